import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { findWorkflow } from '../../../src/agent/runs/find-workflow.ts';
import type { Runtime, RuntimeOptions } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { agentFolder, tool } from '../run-agent.ts';
import { call } from './run-team.ts';

const IMPORTS =
  'import: { agents: ["./team/*.yml"], tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"] }\n';
const DEPLOY = '<action id="d">{"name":"deploy","parameters":{"to":"prod"}}</action>';
const OPS = [DEPLOY, '<response>Ops: $d</response>'];

const member = (name: string, manifest: string, turns: readonly string[]) => ({
  [`team/${name}.yml`]: `kind: Agent\nname: ${name}\nmodel: scripted:./${name}.turns.json\n${manifest}`,
  [`team/${name}.turns.json`]: JSON.stringify({ turns }),
});

const pause = (ms: number) => `await new Promise((done) => setTimeout(done, ${ms}));`;
/** Has a tool wait for a file. */
const until = (file: string) =>
  `const { existsSync } = await import('node:fs'); while (!existsSync(${JSON.stringify(file)})) ${pause(10)}`;
const LOOKS = pause(150);

const FLOW = `kind: Workflow
name: ship
trigger: { type: manual }
steps:
  - { name: ops, type: agent, target: ops, parameters: { input: "Ship it." } }
`;

const BESIDE = `kind: Workflow
name: beside
trigger: { type: manual }
steps:
  - name: both
    type: parallel
    branches:
      - [{ name: ops, type: agent, target: ops, parameters: { input: "Ship it." } }]
      - [{ name: look, type: tool, target: look }, { name: up, type: wait, event: custom, match: { name: up } }]
`;

/** An agent that calls others, of whom one asks a person; runtimes on one store, one after the other. */
async function scene(turns: readonly string[], manifest = '', { deploys = '', looks = LOOKS } = {}) {
  const folder = agentFolder(`${IMPORTS}${manifest}`, {
    ...tool('deploy', `${deploys} return \`deployed \${input.to}\`;`, 'approval: always\n'),
    ...tool('look', `${looks} return "seen";`),
    ...member('ops', 'import: { tools: ["../tools/*.yml"] }\n', OPS),
    ...member('lead', 'import: { agents: ["./ops.yml"] }\n', [
      `${call('o', 'ops', {}, 'sync')}<response>Lead: $o</response>`,
    ]),
    'ship.flow.yml': FLOW,
    'beside.flow.yml': BESIDE,
    'turns.json': JSON.stringify({ turns }),
  });
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const open = async (options: RuntimeOptions = {}): Promise<Runtime> => {
    const runtime = await createRuntime({ store, cwd: folder, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const begin = (runtime: Runtime) =>
    runtime.start(agent, { input: 'Go.', model: 'scripted:./turns.json', id: 'ses_top' });
  return { agent, store, open, begin, resume: { agent, model: 'scripted:./turns.json' } };
}

const types = async (runtime: Runtime, stream: string) =>
  (await runtime.events(stream)).map(({ type }) => type);

describe('a session whose sub-agent waits for a person', () => {
  it('is let go of with it, says what for, and goes on once that is answered', async () => {
    const { resume, store, open, begin } = await scene([`${call('a', 'ops')}<response>Top: $a</response>`]);
    const first = await open();
    const result = await begin(first).result;
    expect(result).toMatchObject({ status: 'waiting', reviews: [{ target: 'tool "deploy"' }] });
    for (const stream of ['ses_top', 'ses_top.a']) {
      const info = await store.info(stream);
      expect({ stream, status: info?.status, owner: info?.owner }).toEqual({
        stream,
        status: 'waiting',
        owner: undefined,
      });
    }
    expect((await first.events('ses_top')).at(-1)).toMatchObject({
      type: 'session.waiting',
      for: 'agent ses_top.a',
    });
    const second = await open();
    await second.answer(result.reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    const ended = await (await second.resume('ses_top', resume)).result;
    expect(ended).toMatchObject({ status: 'completed', result: 'Top: Ops: deployed prod' });
    expect((await types(second, 'ses_top.a')).filter((type) => type === 'review.requested')).toHaveLength(1);
  });

  it('however many are between it and the one that asks: each says on its own log that it waits', async () => {
    const { resume, store, open, begin } = await scene([`${call('a', 'lead')}<response>Top: $a</response>`]);
    const first = await open();
    const result = await begin(first).result;
    expect(result.status).toBe('waiting');
    const streams = ['ses_top', 'ses_top.a', 'ses_top.a.o'];
    for (const stream of streams) expect((await store.info(stream))?.status).toBe('waiting');
    expect((await first.events('ses_top.a')).at(-1)).toMatchObject({ for: 'agent ses_top.a.o' });
    await first.answer(result.reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    const ended = await (await first.resume('ses_top', resume)).result;
    expect(ended).toMatchObject({ status: 'completed', result: 'Top: Lead: Ops: deployed prod' });
  });

  it('but not before all else that it has to do is done', async () => {
    const look = '<action id="l">{"name":"look"}</action>';
    const { open, begin } = await scene([`${call('a', 'ops')}${look}<response>$a, $l</response>`]);
    const runtime = await open();
    expect((await begin(runtime).result).status).toBe('waiting');
    const story = await types(runtime, 'ses_top');
    expect(story.indexOf('action.completed')).toBeGreaterThan(0);
    expect(story.at(-1)).toBe('session.waiting');
  });

  it('also where the one that waits has the last place, and others stand behind it', async () => {
    const look = '<action id="l">{"name":"look"}</action>';
    const { resume, open, begin } = await scene(
      [`${call('a', 'ops')}${look}<response>$a, $l</response>`],
      'limits: { parallel_actions: 1 }\n',
    );
    const runtime = await open();
    const { status, reviews } = await begin(runtime).result;
    expect(status).toBe('waiting');
    await runtime.answer(reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    const ended = await (await runtime.resume('ses_top', resume)).result;
    expect(ended).toMatchObject({ status: 'completed', result: 'Ops: deployed prod, seen' });
  });

  it('keeps its tries: that it was let go of is no failure of the agent', async () => {
    const { resume, store, open, begin } = await scene([
      `${call('a', 'ops', { retry: 1 })}<response>Top: $a</response>`,
    ]);
    const runtime = await open();
    await begin(runtime).result;
    for (let round = 0; round < 3; round++) {
      await store.send('ses_top', { kind: 'note', from: 'ann', body: 'Still there?' });
      expect(await (await runtime.resume('ses_top', resume)).result).toMatchObject({ status: 'waiting' });
    }
    await store.send('ses_top.a', { kind: 'cancel', from: 'ann', body: 'not that one' });
    const again = await (await runtime.resume('ses_top', resume)).result;
    // The second try is a session of its own, which asks again.
    expect(again).toMatchObject({ status: 'waiting', reviews: [{ target: 'tool "deploy"' }] });
    expect((await store.info('ses_top.a~2'))?.status).toBe('waiting');
  });

  it('stays where it is when it is to be held, and goes on by itself', async () => {
    const { store, open, begin } = await scene([`${call('a', 'ops')}<response>Top: $a</response>`]);
    const runtime = await open({ onWaiting: 'hold' });
    const session = begin(runtime);
    await expect.poll(async () => (await store.info('ses_top.a'))?.status).toBe('waiting');
    expect((await store.info('ses_top'))?.status).toBe('running');
    const [asked] = await runtime.reviews();
    await runtime.answer(asked?.review ?? '', { approved: true, by: 'ann' });
    expect(await session.result).toMatchObject({ status: 'completed', result: 'Top: Ops: deployed prod' });
  });
});

describe('a run whose agent waits for a person', () => {
  it('is let go of with it, and goes on once that is answered', async () => {
    const { agent, store, open } = await scene([]);
    const first = await open();
    const run = first.workflows.start(findWorkflow(agent, 'ship'));
    const result = await run.result;
    expect(result).toMatchObject({ status: 'waiting', waiting: { for: `agent ${run.id}.ops` } });
    await expect.poll(async () => (await store.info(run.id))?.owner).toBeUndefined();
    const [asked] = await first.reviews();
    expect(await store.info(asked?.session ?? '')).toMatchObject({ status: 'waiting' });
    expect((await store.info(asked?.session ?? ''))?.owner).toBeUndefined();
    await first.answer(asked?.review ?? '', { approved: true, by: 'ann' });
    const ended = await (await first.workflows.resume(run.id, { onWaiting: 'hold' })).result;
    expect(ended).toMatchObject({ status: 'completed', output: 'Ops: deployed prod' });
  });

  it('is held again as soon as there is an answer, though all else in it waits', async () => {
    const gate = (name: string) => join(tmpdir(), `${name}-${randomUUID()}`);
    const [looked, deployed] = [gate('looked'), gate('deployed')];
    const { agent, store, open } = await scene([], '', { deploys: until(deployed), looks: until(looked) });
    const runtime = await open();
    const run = runtime.workflows.start(findWorkflow(agent, 'beside'));
    const below = async () => (await store.list({ parent: run.id }))[0];
    await expect.poll(async () => (await below())?.status).toBe('waiting');
    const [asked] = await runtime.reviews();
    const ops = asked?.session ?? '';
    await runtime.answer(asked?.review ?? '', { approved: true, by: 'ann' });
    await expect.poll(() => types(runtime, ops)).toContain('action.started');
    writeFileSync(looked, '');
    const steps = async () => (await runtime.workflows.state(run.id)).steps;
    await expect
      .poll(async () => [...(await steps()).values()].map(({ status }) => status))
      .toContain('completed');
    await new Promise((resolve) => setTimeout(resolve, 50)); // the line of the other step parks
    writeFileSync(deployed, '');
    expect(await run.result).toMatchObject({ status: 'waiting', waiting: { for: 'event custom' } });
    expect(await types(runtime, ops)).not.toContain('session.resumed');
    expect((await store.info(ops))?.status).toBe('completed');
  });
});
