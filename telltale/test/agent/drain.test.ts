import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../src/agent/define/definitions.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { eventually } from '../store/eventually.ts';

const open: Runtime[] = [];
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close();
});

type Hooks = Parameters<typeof defineAgent>[0]['hooks'];

/** An agent with a tool "pay", which must not be called twice, and "look", which may be; the test ends their calls. */
async function stage(hooks?: Hooks) {
  const calls: { readonly key: string; end(): void }[] = [];
  const hold = (name: string, idempotent: boolean) =>
    defineTool({
      name,
      idempotent,
      run: (_, { idempotencyKey: key, signal }) =>
        new Promise<string>((resolve, reject) => {
          const call = { key, end: () => resolve('done') };
          calls.push(call);
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
  const flow = defineWorkflow({
    name: 'flow',
    steps: [
      { name: 'first', type: 'tool', target: 'pay' },
      { name: 'second', type: 'tool', target: 'pay' },
    ],
  });
  const undone = defineWorkflow({
    name: 'undone',
    steps: [
      { name: 'before', type: 'tool', target: 'note', compensate: { type: 'tool', target: 'pay' } },
      { name: 'fails', type: 'tool', target: 'fail' },
    ],
  });
  const agent = await defineAgent({
    name: 'plain',
    protocol: { final_with_actions: 'accept' },
    tools: [
      hold('pay', false),
      hold('look', true),
      defineTool({ name: 'note', idempotent: true, run: () => 'noted' }),
      defineTool({
        name: 'fail',
        run: () => {
          throw new Error('no');
        },
      }),
    ],
    workflows: [flow, undone],
    ...(hooks === undefined ? {} : { hooks }),
  });
  const clock = createSimulatedClock();
  const store = createMemoryStore({ clock });
  const begin = async () => {
    const runtime = await createRuntime({ store, clock });
    open.push(runtime);
    return runtime;
  };
  const runtime = await begin();
  const typesOf = async (session: string) =>
    (await runtime.events(session)).flatMap((event) =>
      event.type.startsWith('action.') && 'id' in event ? [`${event.type} ${event.id}`] : [],
    );
  return {
    runtime,
    begin,
    clock,
    calls,
    agent,
    typesOf,
    workflow: findWorkflow(agent, flow),
    undone: findWorkflow(agent, undone),
    start: (text: string, id: string) =>
      runtime.start(agent, {
        id,
        input: 'Go.',
        model: scripted([text + FINAL]),
      }),
    called: (count: number) => eventually(() => expect(calls).toHaveLength(count)),
  };
}

const FINAL = '<response final="true">done</response>';
const PAY = '<action id="a">{"name":"pay"}</action>';

describe('a runtime that drains', () => {
  it('waits for the step in hand of a run, begins no other, and whoever goes on does not do it again', async () => {
    const { runtime, workflow, calls, called, begin } = await stage();
    const run = runtime.workflows.start(workflow, { id: 'run_a' });
    await called(1);
    const waits: unknown[] = [];
    const drained = runtime.drain({ onWaiting: (waiting) => waits.push(waiting) });
    calls[0]?.end();
    await drained;
    expect(waits).toEqual([{ calls: 1, withinMs: 20_000 }]);
    expect(await run.result).toMatchObject({ status: 'interrupted' });
    await runtime.close();
    const next = await begin();
    const again = await next.workflows.resume('run_a', { workflow });
    await called(2);
    calls[1]?.end();
    expect(await again.result).toMatchObject({ status: 'completed' });
    expect(calls.map(({ key }) => key)).toEqual(['run_a:first', 'run_a:second']);
  });

  it('waits for the action in hand of a session, and begins no other that must not be made twice', async () => {
    const { runtime, start, calls, called, typesOf, begin, agent } = await stage();
    const session = start(`${PAY}<action id="b">{"name":"pay","depends_on":["a"]}</action>`, 'ses_a');
    await called(1);
    const drained = runtime.drain();
    calls[0]?.end();
    await drained;
    expect(await session.result).toMatchObject({ status: 'interrupted' });
    expect(await typesOf('ses_a')).toEqual(['action.started a', 'action.completed a']);
    await runtime.close();
    const next = await begin();
    const again = await next.resume('ses_a', { agent, model: scripted([FINAL]) });
    await called(2);
    calls[1]?.end();
    expect(await again.result).toMatchObject({ status: 'completed' });
    expect(calls.map(({ key }) => key)).toEqual(['ses_a:a', 'ses_a:b']);
  });

  it('waits for a hook that looks at what such an action gave', async () => {
    const { runtime, start, calls, called, typesOf } = await stage({
      after_action: [{ command: ['sleep', '0.1'], fallback: true }],
    });
    start(PAY, 'ses_a');
    await called(1);
    const drained = runtime.drain();
    calls[0]?.end();
    await drained;
    expect(await typesOf('ses_a')).toContain('action.completed a');
  });

  it('waits for what undoes a step', async () => {
    const { runtime, undone, calls, called } = await stage();
    runtime.workflows.start(undone, { id: 'run_a' });
    await called(1);
    const drained = runtime.drain();
    calls[0]?.end();
    await drained;
    const types = (await runtime.workflows.events('run_a')).map(({ type }) => type);
    expect(types).toContain('step.compensated');
  });

  it('lets go at once of what may be done again, beside one that it waits for', async () => {
    const { runtime, start, calls, called, typesOf } = await stage();
    const idle = start('<action id="a">{"name":"look"}</action>', 'ses_look');
    const busy = start(PAY, 'ses_pay');
    await called(2);
    const drained = runtime.drain();
    expect(await idle.result).toMatchObject({ status: 'interrupted' });
    expect(runtime.session('ses_pay')).toBeDefined();
    for (const call of calls) call.end();
    await drained;
    await busy.result;
    expect(await typesOf('ses_pay')).toEqual(['action.started a', 'action.completed a']);
  });

  it('waits no longer than it is told to, and leaves the rest to who closes it', async () => {
    const { runtime, start, called, clock, typesOf } = await stage();
    const busy = start(PAY, 'ses_pay');
    await called(1);
    let isOver = false;
    const drained = runtime.drain({ withinMs: 5_000 }).then(() => {
      isOver = true;
    });
    await clock.advance(4_999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await drained;
    expect(await typesOf('ses_pay')).toEqual(['action.started a']);
    await runtime.close();
    expect(await busy.result).toMatchObject({ status: 'interrupted' });
  });

  it('has nothing to wait for where nothing is under way, and starts nothing more', async () => {
    const { runtime, start } = await stage();
    await runtime.drain({ onWaiting: () => expect.unreachable() });
    expect(() => start(PAY, 'ses_a')).toThrow(expect.objectContaining({ code: 'runtime_closed' }));
  });
});
