import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { openMemory } from '../../src/agent/memory/session-memory.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { dropGathered } from '../../src/log/snapshot.ts';
import { emptyState } from '../../src/log/state.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder } from './run-agent.ts';

const WAITING = `kind: Workflow
name: auto
trigger: { type: metadata_match, conditions: { status: CODING } }
steps:
  - { name: hour, type: wait, for: 1h }
`;

describe('a session that is over and kept at hand', () => {
  it('still ends the runs that it has set off, where it is cancelled', async () => {
    const cwd = agentFolder(
      'import: { workflows: [./flows/*.yml] }\nmetadata: { fields: { status: { type: string } } }\n',
      { 'flows/auto.yml': WAITING },
    );
    const agent = await loadAgent('agent.yml', { cwd });
    const runtime = await createRuntime({ store: 'memory', cwd });
    const turn = '<metadata>{"status":"CODING"}</metadata><response>Done.</response>';
    const session = runtime.start(agent, { input: 'Go.', model: scripted([turn]) });
    expect((await session.result).status).toBe('completed');
    const run = (await runtime.state(session.id)).runs[0]?.run ?? '';
    const status = async () => (await runtime.store.info(run))?.status;
    await expect.poll(status).toBe('waiting');
    await session.cancel('no more');
    await expect.poll(status).toBe('cancelled');
    await runtime.close();
  });

  it('shows a tool that kept its context what was done, as it did in the call', async () => {
    const kept: { readonly agent: JsonObject }[] = [];
    const held: JsonObject[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Keeps what it is given.',
      parameters: { type: 'object' },
      run(_, context) {
        kept.push(context);
        held.push(context.agent);
        return 'x'.repeat(1000);
      },
    });
    const turn = '<action id="a" mode="sync">{"name":"look"}</action><action id="b">{"name":"look"}</action>';
    const model = scripted([`${turn}<response>Done.</response>`]);
    const agent = await defineAgent({ name: 'keeper', model, tools: [look] });
    const runtime = await createRuntime({ store: 'memory' });
    const session = runtime.start(agent, { input: 'Go.' });
    await session.result;
    await runtime.close();
    const did = (id: string, status: string) => ({ id, name: 'look', status });
    expect(held.map(({ actions_executed }) => actions_executed)).toEqual([
      [did('a', 'running')],
      [did('a', 'completed'), did('b', 'running')],
    ]);
    expect(kept[0]?.agent.actions_executed).toEqual([did('a', 'completed'), did('b', 'completed')]);
  });

  it('has its last step noted in the knowledge graph, though it was stopped while the one before was', async () => {
    const folder = agentFolder('');
    mkdirSync(join(folder, 'graph'));
    const state = emptyState();
    const noted: number[] = [];
    let react: (event: { readonly type: 'task.over' }) => void = () => undefined;
    let goOn = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const memory = {
      index: async () => undefined,
      async noteSession({ read, changed }: Readonly<Record<'read' | 'changed', readonly string[]>>) {
        await first;
        noted.push(read.length + changed.length);
      },
    };
    openMemory({
      log: {
        state,
        react(then: typeof react) {
          react = then;
        },
        append: () => undefined,
      },
      prepared: {
        agent: {
          folder,
          manifest: { memory: { graph: 'graph' }, limits: { feed_deadline: { ms: 100 } } },
        },
        targets: { deps: { permissions: { paths: {} } } },
      },
      runtime: { memories: { open: async () => memory }, clock: createSystemClock() },
    } as never);
    const touch = (id: string) => {
      writeFileSync(join(folder, 'graph', `${id}.ts`), '');
      const action = { id, kind: 'tool', name: 'read', parameters: {} };
      const done = { action, turn: 1, status: 'completed', input: { path: `graph/${id}.ts` } };
      state.actions.set(id, done as never);
      react({ type: 'task.over' });
    };
    touch('one');
    touch('two');
    dropGathered(state);
    goOn();
    await expect.poll(() => noted).toEqual([1, 2]);
  });
});

describe('a listener', () => {
  const started = async () => {
    const cwd = agentFolder('');
    const runtime = await createRuntime({ store: 'memory', cwd });
    const agent = await loadAgent('agent.yml', { cwd });
    const session = runtime.start(agent, { input: 'Go.', model: scripted(['<response>Done.</response>']) });
    return { runtime, session };
  };

  it.each([0, 8])('that subscribes itself hears of an event once, with %i others', async (others) => {
    const { runtime, session } = await started();
    let told = 0;
    const again = ({ type }: { readonly type: string }) => {
      if (type === 'session.completed' && ++told < 100) session.subscribe(again);
    };
    for (let other = 0; other < others; other++) session.subscribe(() => undefined);
    session.subscribe(again);
    await session.result;
    await runtime.close();
    expect(told).toBe(1);
  });

  it('that came twice and left once meanwhile is told once', async () => {
    const { runtime, session } = await started();
    const told: string[] = [];
    const listener = ({ type }: { readonly type: string }) => void told.push(type);
    let leave = (): void => undefined;
    session.subscribe(({ type }) => {
      if (type === 'session.completed') leave();
    });
    leave = session.subscribe(listener);
    session.subscribe(listener);
    await session.result;
    await runtime.close();
    expect(told.filter((type) => type === 'session.started')).toHaveLength(2);
    expect(told.filter((type) => type === 'session.completed')).toHaveLength(1);
  });
});
