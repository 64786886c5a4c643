import { describe, expect, it } from 'vitest';
import { createSessionInvoke } from '../../../src/agent/artifact-service.ts';
import { sessionContext } from '../../../src/agent/decision-context.ts';
import { createArtifactStoreOpener } from '../../../src/agent/open-artifact-store.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { Json } from '../../../src/lib/json.ts';
import { emptyState } from '../../../src/log/state.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { runAgent } from '../run-agent.ts';

const GATE = `kind: Artifact
name: gate
description: Whether to go on.
source: |
  export function go_on(n, context) { return n < 3 }
methods: { go_on: { description: Whether. } }
`;
const BESIDE = `---
kind: Artifact
name: beside
module: ./decide.js
methods: { decide: {} }
`;
const files = { 'gate.yml': GATE, 'decide.js': 'export const decide = () => "from a file"' };
const allowed = (uses: string) =>
  `import: { artifacts: [./gate.yml] }\npermissions: { artifacts: [${uses}] }\n`;

const call = (id: string, name: string, parameters: object) =>
  `<action id="${id}" type="internal" mode="sync">${JSON.stringify({ name, parameters })}</action>`;

/** Runs the calls one after the other in one session; what came out of each, by id. */
async function run(
  manifest: string,
  calls: readonly (readonly [name: string, parameters: object])[],
  store?: ReturnType<typeof createMemoryStore>,
) {
  const turns = [
    calls.map(([name, parameters], n) => call(`c${n}`, name, parameters)).join('\n'),
    '<response>Done.</response>',
  ];
  const ran = await runAgent({
    manifest,
    files,
    turns,
    ...(store === undefined ? {} : { runtime: { store } }),
  });
  const out = calls.map((_, n) => {
    const done = ran.of('action.completed').find(({ id }) => id === `c${n}`);
    return (done?.output ?? ran.of('action.failed').find(({ id }) => id === `c${n}`)?.error) as Json;
  });
  return { ran, out };
}
const source = (n: number) => `export const go_on = () => ${n}`;

describe('artifacts of a manifest', () => {
  it('are in the store as version 1 when a session starts, imported or beside the agent, from text or a file', async () => {
    const { out } = await run(`${allowed('read')}${BESIDE}`, [
      ['read_artifact', { name: 'gate' }],
      ['read_artifact', { name: 'beside' }],
      ['read_artifact', {}],
    ]);
    expect(out).toMatchObject([
      {
        name: 'gate',
        version: 1,
        newest: 1,
        author: 'manifest',
        methods: ['go_on'],
        description: 'Whether to go on.',
      },
      { name: 'beside', source: 'export const decide = () => "from a file"' },
      { artifacts: expect.arrayContaining(['beside', 'gate', 'genesis_majority']) },
    ]);
  });
  it('whose file is not there are told of before the session starts', async () => {
    const failing = runAgent({
      manifest: `${allowed('read')}${BESIDE}`,
      files: { 'gate.yml': GATE },
      turns: [],
    });
    await expect(failing).rejects.toMatchObject({
      code: 'module_failed',
      message: expect.stringContaining('decide.js'),
    });
  });
});

describe('an agent that may write', () => {
  it('writes new versions, which are on the log and stay in the store', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const { ran, out } = await run(
      allowed('read, write'),
      [
        ['write_artifact', { name: 'gate', source: source(2) }],
        ['write_artifact', { name: 'mine', source: source(3), methods: ['go_on'], description: 'New.' }],
        ['rollback_artifact', { name: 'gate', to: 1 }],
        ['read_artifact', { name: 'gate', version: 2 }],
      ],
      store,
    );
    expect(out.slice(0, 3)).toEqual([
      { name: 'gate', version: 2 },
      { name: 'mine', version: 1 },
      { name: 'gate', version: 3 },
    ]);
    expect(out[3]).toMatchObject({
      version: 2,
      newest: 3,
      author: 'agent:tester',
      parent: 1,
      source: source(2),
      methods: ['go_on'],
    });
    expect(ran.of('artifact.written')).toMatchObject([
      { artifact: 'gate', version: 2, parent: 1, by: 'agent:tester' },
      { artifact: 'mine', version: 1, by: 'agent:tester' },
      { artifact: 'gate', version: 3, parent: 2, restores: 1, by: 'agent:tester' },
    ]);
    const later = await run(
      allowed('read'),
      [
        ['read_artifact', { name: 'gate' }],
        ['write_artifact', { name: 'mine', source: source(4) }],
        ['write_artifact', { name: 'gate', source: source(4) }],
        ['rollback_artifact', { name: 'gate', to: 2 }],
      ],
      store,
    );
    expect(later.out).toMatchObject([
      { version: 3 },
      { name: 'mine', version: 2 },
      { code: 'not_permitted' },
      { code: 'not_permitted' },
    ]);
  });
  it.each([
    [
      'write_artifact',
      { name: 'genesis_majority', source: source(1) },
      'not_permitted',
      'reserved for the runtime',
    ],
    [
      'write_artifact',
      { name: 'gate', source: 'export const other = 1' },
      'bad_artifact',
      'export function go_on',
    ],
    ['write_artifact', { name: 'gate', source: 'export const' }, 'bad_artifact', 'ES module'],
    ['rollback_artifact', { name: 'gate', to: 7 }, 'artifact_unknown', '1'],
    ['read_artifact', { name: 'gat' }, 'artifact_unknown', '"gate"'],
    ['read_artifact', { name: 'gate', version: 4 }, 'artifact_unknown', '1'],
    ['write_artifact', { name: 'gate' }, 'bad_parameters', ''],
  ])('%s %j is refused as %s', async (name, parameters, code, hint) => {
    const { ran, out } = await run(allowed('read, write'), [[name, parameters]]);
    expect(out).toMatchObject([{ code }]);
    expect((out[0] as { hint?: string }).hint ?? '').toContain(hint);
    expect(ran.of('artifact.written')).toEqual([]);
  });
});

describe('an agent that may not', () => {
  it.each([
    ['read_artifact', { name: 'gate' }],
    ['write_artifact', { name: 'gate', source: source(1) }],
    ['rollback_artifact', { name: 'gate', to: 1 }],
  ])('is not offered %s, and told what is missing', async (name, parameters) => {
    const { ran, out } = await run(allowed(''), [[name, parameters]]);
    expect(out).toMatchObject([
      { code: 'not_permitted', hint: expect.stringContaining('permissions: { artifacts }') },
    ]);
    expect(ran.prompts[0]).not.toContain(name);
  });
  it('is held to its internal actions, too', async () => {
    const manifest = `${allowed('read, write')}internal_actions: { blocked_actions: [write_artifact] }\n`;
    const { out } = await run(manifest, [['write_artifact', { name: 'gate', source: source(1) }]]);
    expect(out).toMatchObject([{ code: 'not_permitted', hint: expect.stringContaining('blocked_actions') }]);
  });
});

describe('decisions of a session', () => {
  it('see what it is and did, and nothing of its memory', async () => {
    let context = {};
    await runAgent({
      manifest: 'budget: { balance: 9 }\nmetadata: { fields: { status: { type: string, default: IDLE } } }\n',
      turns: [
        call('a', 'list_actions', {}) + call('b', 'cancel_action', { id: 'none' }),
        '<response>Done.</response>',
      ],
      after: async (session, runtime) => {
        context = sessionContext(await runtime.state(session));
      },
    });
    expect(context).toEqual({
      agent_id: 'tester',
      current_state: null,
      step_name: null,
      balance: expect.any(Number),
      success_rate: 0.5,
      recent_actions: [
        { id: 'a', name: 'list_actions', status: 'completed' },
        { id: 'b', name: 'cancel_action', status: 'failed', error: 'action_unknown' },
      ],
      last_result: expect.anything(),
      metadata: { status: 'IDLE' },
      variables: {},
    });
  });
  it('are paid from its balance', async () => {
    const clock = createSystemClock();
    const artifactStore = createArtifactStoreOpener({ store: createMemoryStore({ clock }), clock });
    const state = { ...emptyState(), id: 'ses_1', balance: 1 };
    await (await artifactStore()).artifacts.write(
      { name: 'gate', source: source(1), methods: ['go_on'] },
      'user',
    );
    const manifest = { budget: { balance: 1, costs: { turn: 0, action: 0, artifact: 0.75 } } };
    const invoke = createSessionInvoke({ artifactStore, state, manifest: manifest as never });
    const invocation = { invoke: 'gate', method: 'go_on', args: [], cache: false, fallback: null };
    const ask = () =>
      invoke({
        where: 'hook before_turn',
        invocation,
        expected: { type: 'any' },
        context: sessionContext(state),
        signal: new AbortController().signal,
      });
    expect(await ask()).toMatchObject({ result: 1, cost: 0.75 });
    state.balance = 0.25;
    expect(await ask()).toMatchObject({ result: null, fallback: { reason: 'unaffordable' } });
  });
});
