import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { RuntimeOptions } from '../../../src/agent/runtime-types.ts';
import { type Clock, createSystemClock } from '../../../src/lib/clock.ts';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { takeUp } from '../../../src/server/recovery/pick-up.ts';
import { createCaretaker } from '../../../src/server/recovery/recovery-service.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { StreamWriter } from '../../../src/store/store.ts';
import { agentFolder, tool } from '../../agent/run-agent.ts';

const HEAD =
  'permissions: { sandbox: "off" }\nimport: { tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"], agents: ["./team/*.yml"] }\n';
const FLOW = `kind: Workflow
name: nap
trigger: { type: manual }
steps:
  - { name: nap, type: wait, event: custom, match: { name: morning } }
`;
const SHIP = `kind: Workflow
name: ship
trigger: { type: manual }
steps:
  - { name: ops, type: agent, target: ops, parameters: { input: "Ship it." } }
`;
const OPS = `kind: Agent
name: ops
model: scripted:../turns.yml
permissions: { sandbox: "off" }
import: { tools: ["../tools/*.yml"] }
`;
const CALLER = `turns:
  - |
    <action type="agent" id="o">{"name":"ops","parameters":{"input":"Ship it."}}</action>
    <response>Ops say: $o</response>
`;
const SCRIPT = `turns:
  - |
    <action id="d">{"name":"deploy","parameters":{"to":"test"}}</action>
    <response>Deployed: $d</response>
  - |
    <response>It was not to be.</response>
`;

const NOTES = 'The service runs on the test stage now, and it answers on its port as it should.';
const DONE = `<action>{"name":"complete_step","parameters":{"notes":"${NOTES}"}}</action>`;
/** Agents that a workflow leads: one that asks, and one whose sub-agent asks. */
const GUIDED = `turns:
  - |
    <action id="d">{"name":"deploy","parameters":{"to":"test"}}</action>
  - |
    ${DONE}
  - |
    ${DONE}
`;
const GUIDED_CALLER = GUIDED.replace(
  /<action id.*/,
  '<action type="agent" id="o">{"name":"ops","parameters":{"input":"Ship it."}}</action>',
);
const LOOK = '{ name: look, type: task, prompt: "Look." }';
const led = (...steps: readonly string[]) => ({
  'steps.flow.yml': `kind: Workflow\nname: steps\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`,
  'guided.yml': GUIDED,
  'guided-caller.yml': GUIDED_CALLER,
  'told.yml': `turns:\n  - ${JSON.stringify(DONE)}\n`,
});

/** A store that several runtimes use one after the other, or at once, as processes do. */
async function scene(files: Readonly<Record<string, string>> = {}) {
  const folder = agentFolder('steps.flow.yml' in files ? `workflow: steps\n${HEAD}` : HEAD, {
    ...tool('deploy', 'return `to ${input.to}`;', 'approval: always\n'),
    'nap.flow.yml': FLOW,
    'ship.flow.yml': SHIP,
    'team/ops.yml': OPS,
    'caller.yml': CALLER,
    'turns.yml': SCRIPT,
    'slow.yml': `tokens_per_second: 1\n${SCRIPT}`,
    ...files,
  });
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const catalog = {
    list: () => [
      { name: agent.manifest.name, path: agent.path, source: agent.path, agent, loadedAt: 0, problems: [] },
    ],
  };
  const left: string[] = [];
  return {
    agent,
    catalog,
    store,
    left,
    async runtime(options: RuntimeOptions = {}) {
      const runtime = await createRuntime({
        store,
        cwd: folder,
        env: { PATH: process.env.PATH },
        ...options,
      });
      onTestFinished(() => runtime.close());
      return runtime;
    },
    caretaker(runtime: Awaited<ReturnType<typeof createRuntime>>, clock: Clock = createSystemClock()) {
      const caretaker = createCaretaker({
        runtime,
        catalog,
        clock,
        onLeft: (stream, why) => left.push(`${stream}: ${why}`),
      });
      onTestFinished(() => caretaker.close());
      return caretaker;
    },
  };
}

const model = 'scripted:./turns.yml';
/** Nothing comes of it while a test looks. */
const SLOW = 'scripted:./slow.yml';

describe('what is alive is worked on', () => {
  it('when a review of a session that was let go of is answered by another process', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const [daemon, other] = [await open(), await open()];
    caretaker(daemon);
    const { session, reviews, status } = await daemon.start(agent, { input: 'Go.', model }).result;
    expect(status).toBe('waiting');
    await other.answer(reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    await expect.poll(async () => (await store.info(session))?.status).toBe('completed');
    expect((await other.state(session)).result).toBe('Deployed: to test');
    const resumed = (await other.events(session)).filter(({ type }) => type === 'session.resumed');
    expect(resumed).toMatchObject([{ by: 'runtime' }]);
  });

  it('unless another process is quicker and brings it to its end, which is no error', async () => {
    const { runtime: open, agent, catalog, store } = await scene();
    const [daemon, other] = [await open(), await open()];
    const { session, reviews } = await daemon.start(agent, { input: 'Go.', model }).result;
    await other.answer(reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    const { info } = store;
    // As it was seen, just before the other one took it.
    const seen = await info(session);
    await (await other.resume(session)).result;
    (store as { info: typeof info }).info = async () => seen;
    onTestFinished(() => {
      (store as { info: typeof info }).info = info;
    });
    expect(seen?.status).not.toBe('completed');
    await takeUp({ runtime: daemon, catalog, onError: () => expect.unreachable() }, session);
    const said = vi.fn(async () => undefined);
    await expect(
      takeUp({ runtime: daemon, catalog, onError: () => undefined }, session, said),
    ).rejects.toMatchObject({ code: 'session_completed' });
  });

  it('also where it is an agent that the session called, here or before a restart', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const [first, other] = [await open(), await open()];
    caretaker(first);
    const start = { input: 'Go.', model: 'scripted:./caller.yml' };
    const [one, two] = await Promise.all([1, 2].map(() => first.start(agent, start).result));
    expect([one?.status, two?.status]).toEqual(['waiting', 'waiting']);
    await other.answer(one?.reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    await expect.poll(async () => (await store.info(one?.session ?? ''))?.status).toBe('completed');
    expect((await other.state(one?.session ?? '')).result).toBe('Ops say: Deployed: to test');
    await first.close();
    const second = await open();
    await caretaker(second).recover();
    expect((await store.info(two?.session ?? ''))?.status).toBe('waiting');
    await other.answer(two?.reviews?.[0]?.review ?? '', { approved: false, by: 'ann' });
    await expect.poll(async () => (await store.info(two?.session ?? ''))?.status).toBe('completed');
    expect((await other.state(two?.session ?? '')).result).toBe('Ops say: It was not to be.');
  });

  it.each(['guided', 'guided-caller'])(
    'also where a workflow leads it, here or before a restart (%s)',
    async (script) => {
      const { runtime: open, agent, caretaker, store } = await scene(led(LOOK));
      const [first, other] = [await open(), await open()];
      const care = caretaker(first);
      const start = { input: 'Go.', model: `scripted:./${script}.yml` };
      const [one, two] = await Promise.all([1, 2].map(() => first.start(agent, start).result));
      expect([one?.status, two?.status]).toEqual(['waiting', 'waiting']);
      // The run that leads it waits as well: this process keeps neither of them.
      await expect.poll(() => store.info(`${one?.session}~lead`)).toMatchObject({ status: 'waiting' });
      await other.answer(one?.reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
      await expect.poll(async () => (await store.info(one?.session ?? ''))?.status).toBe('completed');
      await care.close();
      await first.close();
      await other.answer(two?.reviews?.[0]?.review ?? '', { approved: false, by: 'ann' });
      const second = await open();
      await caretaker(second).recover();
      await expect.poll(async () => (await store.info(two?.session ?? ''))?.status).toBe('completed');
      for (const { session = '' } of [one ?? {}, two ?? {}])
        expect(await other.state(session)).toMatchObject({ result: NOTES, totals: { turns: 2 } });
    },
  );

  it('also where a step beside its own keeps the workflow that leads it at work', async () => {
    const beside = `{ name: ship, type: parallel, branches: [[${LOOK}], [{ name: busy, type: tool, target: busy }]] }`;
    const folder = agentFolder('', {});
    const {
      runtime: open,
      agent,
      caretaker,
      store,
    } = await scene({
      ...led(beside),
      ...tool(
        'busy',
        `const { existsSync } = await import('node:fs');
         while (!existsSync(${JSON.stringify(join(folder, 'over'))})) await new Promise((done) => setTimeout(done, 10));
         return 1;`,
      ),
    });
    const daemon = await open();
    caretaker(daemon);
    const started = daemon.start(agent, { input: 'Go.', model: 'scripted:./guided.yml' });
    const { session, reviews } = await started.result;
    await daemon.answer(reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    await expect.poll(async () => (await daemon.state(session)).turn).toBe(2);
    writeFileSync(join(folder, 'over'), '');
    await expect.poll(async () => (await store.info(session))?.status).toBe('completed');
  });

  it.each([
    ['completes its step', '{ name: ok, type: approval, prompt: "Ship it?" }', 'completed'],
    [
      'completes its step',
      '{ name: ship, type: tool, target: deploy, parameters: { to: test } }',
      'completed',
    ],
    ['ends', '{ name: ok, type: approval, prompt: "Ship it?" }', 'failed'],
  ])('also where an answer to the workflow that leads it %s: %s', async (_, asks, status) => {
    const { runtime: open, agent, caretaker, store } = await scene(led(asks, LOOK));
    const [daemon, other] = [await open(), await open()];
    caretaker(daemon);
    const { session } = await daemon.start(agent, { input: 'Go.', model: 'scripted:./told.yml' }).result;
    const [review] = await other.reviews();
    await other.answer(review?.review ?? '', { approved: status === 'completed', by: 'ann' });
    await expect.poll(async () => (await store.info(session))?.status).toBe(status);
  });

  it('also where a message comes for it: a word, or that it is to end', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const daemon = await open();
    caretaker(daemon);
    const { session } = await daemon.start(agent, { input: 'Go.', model: 'scripted:./caller.yml' }).result;
    await store.send(`${session}.o`, { kind: 'steer', from: 'ann', body: 'Mind the gap.' });
    await expect
      .poll(async () => (await daemon.events(`${session}.o`)).map(({ type }) => type))
      .toContain('message.received');
    await expect.poll(async () => (await store.info(session))?.owner).toBeUndefined();
    await store.send(`${session}.o`, { kind: 'cancel', from: 'ann', body: 'no need' });
    await expect.poll(async () => (await store.info(`${session}.o`))?.status).toBe('cancelled');
    await expect
      .poll(async () => (await daemon.events(session)).map(({ type }) => type))
      .toContain('action.failed');
  });

  it('also where it is the agent of a run, here or before a restart', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const [first, other] = [await open(), await open()];
    const { findWorkflow } = await import('../../../src/agent/runs/find-workflow.ts');
    caretaker(first);
    const [one, two] = [1, 2].map(() => first.workflows.start(findWorkflow(agent, 'ship')));
    await Promise.all([one?.result, two?.result]);
    const reviewOf = async (run = '') => (await other.reviews({ session: run }))[0]?.review ?? '';
    await other.answer(await reviewOf(one?.id), { approved: true, by: 'ann' });
    await expect.poll(async () => (await store.info(one?.id ?? ''))?.status).toBe('completed');
    expect((await other.workflows.state(one?.id ?? '')).output).toBe('Deployed: to test');
    await first.close();
    const second = await open();
    await caretaker(second).recover();
    await other.answer(await reviewOf(two?.id), { approved: true, by: 'ann' });
    await expect.poll(async () => (await store.info(two?.id ?? ''))?.status).toBe('completed');
  });

  it('and once it is taken up, its log is not watched any more', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const daemon = await open();
    const story: string[] = [];
    const watch = store.watch.bind(store);
    vi.spyOn(store, 'watch').mockImplementationOnce((stream, moved) => {
      const end = watch(stream, moved);
      return () => {
        story.push('unwatched');
        end();
      };
    });
    caretaker(daemon);
    const { session, reviews } = await daemon.start(agent, { input: 'Go.', model }).result;
    await expect.poll(() => vi.mocked(store.watch).mock.calls.map(([stream]) => stream)).toContain(session);
    daemon.watch(({ type }) => story.push(type));
    await daemon.answer(reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    await expect.poll(() => story).toContain('session.completed');
    expect(story[0]).toBe('unwatched');
  });

  it('after a restart, once what a session waits for has come', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const first = await open();
    const { session, reviews } = await first.start(agent, { input: 'Go.', model }).result;
    await first.close();
    const second = await open();
    const recovered = await caretaker(second).recover();
    expect(recovered).toMatchObject({ sessions: [], left: [] });
    expect((await store.info(session))?.owner).toBeUndefined();
    await second.answer(reviews?.[0]?.review ?? '', { approved: false, by: 'ann' });
    await expect.poll(async () => (await store.info(session))?.status).toBe('completed');
    expect((await second.state(session)).result).toBe('It was not to be.');
  });

  it('after a restart, at once, where it had been cut off: sessions and runs', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const first = await open();
    const session = first.start(agent, { input: 'Go.', model: SLOW });
    const { findWorkflow } = await import('../../../src/agent/runs/find-workflow.ts');
    const run = first.workflows.start(findWorkflow(agent, 'nap'));
    await run.result;
    await expect.poll(() => first.session(session.id)).toBeDefined();
    await session.interrupt();
    await first.close();
    expect(await store.info(session.id)).toMatchObject({ status: 'running' });
    const second = await open();
    const recovered = await caretaker(second).recover();
    expect(recovered).toMatchObject({ sessions: [session.id], runs: [run.id], left: [] });
    await second.workflows.signal(run.id, 'custom', { name: 'morning' });
    await expect.poll(async () => (await store.info(run.id))?.status).toBe('completed');
  });

  it('again, where its log could not be written for a while', async () => {
    const { runtime: open, agent, caretaker, store } = await scene();
    const full = new RuntimeError('store_full', 'There is no space left.', { retryable: true });
    let isFull = false;
    const bounded = (writer: StreamWriter): StreamWriter => ({
      ...writer,
      append: (append, settled) => (isFull ? settled(full) : writer.append(append, settled)),
    });
    const daemon = await open({
      store: {
        ...store,
        begin(stream, head) {
          const { writer, made } = store.begin(stream, head);
          return { writer: bounded(writer), made };
        },
        acquire: async (stream) => bounded(await store.acquire(stream)),
      },
    });
    const clock = createSimulatedClock();
    caretaker(daemon, clock);
    const session = daemon.start(agent, { input: 'Go.', model });
    session.subscribe(({ type }) => {
      if (type === 'session.started') isFull = true;
    });
    expect(await session.result).toMatchObject({ status: 'interrupted', error: { code: 'store_full' } });
    isFull = false;
    expect(await store.info(session.id)).toMatchObject({ status: 'running' });
    await expect
      .poll(async () => {
        await clock.advance(10_000);
        return (await store.info(session.id))?.status;
      })
      .toBe('waiting');
  });

  it('and what nobody can be told of is told to whoever runs it, and ends nothing', async () => {
    const { runtime: open, agent } = await scene();
    const told: unknown[] = [];
    const runtime = await open({ onError: (thrown) => told.push(thrown) });
    const { findWorkflow } = await import('../../../src/agent/runs/find-workflow.ts');
    const run = runtime.workflows.start(findWorkflow(agent, 'nap'));
    run.subscribe(() => {
      throw new Error('A listener failed.');
    });
    await expect.poll(() => told).toEqual([new Error('A listener failed.')]);
  });

  it('and what another process works on is left to it', async () => {
    const { runtime: open, agent, caretaker, left } = await scene();
    const [daemon, other] = [await open(), await open()];
    const session = other.start(agent, { input: 'Go.', model, onWaiting: 'hold' });
    await expect.poll(() => other.session(session.id)).toBeDefined();
    expect(await caretaker(daemon).recover()).toMatchObject({ sessions: [], left: [] });
    expect(left).toEqual([]);
    await session.interrupt();
  });

  it('and what cannot go on here is told, with what to do about it', async () => {
    const { runtime: open, agent, caretaker, left } = await scene();
    const first = await open();
    const changed = { ...agent, hash: 'another' };
    const session = first.start(changed, { input: 'Go.', model: SLOW });
    await expect.poll(() => first.session(session.id)).toBeDefined();
    await first.close();
    const recovered = await caretaker(await open()).recover();
    expect(recovered.left).toMatchObject([{ stream: session.id }]);
    expect(left).toEqual([expect.stringMatching(/is not the one that .* started with.*--accept-changes/)]);
  });
});
