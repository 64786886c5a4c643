import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../src/agent/define/definitions.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { eventually } from '../store/eventually.ts';

const open: Runtime[] = [];
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close();
});

/** An agent whose tool "hit" runs `max` at a time, and whose calls the test ends by hand. */
async function stage(max: number) {
  const calls: { readonly key: string; end(): void }[] = [];
  const done: string[] = [];
  let most = 0;
  const hit = defineTool({
    name: 'hit',
    max_parallel: max,
    idempotent: true,
    run: (_, { idempotencyKey: key, signal }) =>
      new Promise<string>((resolve, reject) => {
        const leave = () => calls.splice(calls.indexOf(call), 1);
        const call = {
          key,
          end() {
            leave();
            done.push(key);
            resolve('hit');
          },
        };
        signal.addEventListener('abort', () => {
          leave();
          reject(signal.reason);
        });
        calls.push(call);
        most = Math.max(most, calls.length);
      }),
  });
  const many = defineWorkflow({
    name: 'many',
    steps: [
      {
        name: 'each',
        type: 'foreach',
        in: [1, 2, 3],
        as: 'n',
        body: [{ name: 'hit', type: 'tool', target: 'hit' }],
      },
    ],
  });
  const protocol = { final_with_actions: 'accept' } as const;
  const plain = await defineAgent({ name: 'plain', protocol, tools: [hit], workflows: [many] });
  const other = await defineAgent({ name: 'other', protocol, tools: [hit] });
  const fed = await defineAgent({
    name: 'fed',
    protocol,
    tools: [hit, defineTool({ name: 'look', idempotent: true, run: () => 'fine' })],
    context_feeds: [
      { id: 'news', source: { type: 'tool', name: 'hit' } },
      { id: 'weather', source: { type: 'tool', name: 'look' } },
    ],
  });
  const runtime = await createRuntime({ store: 'memory' });
  open.push(runtime);
  const say = (actions: number) =>
    scripted([
      `${Array.from({ length: actions }, (_, n) => `<action id="a${n}">{"name":"hit"}</action>`).join('')}<response final="true">done</response>`,
    ]);
  return {
    runtime,
    calls,
    done,
    most: () => most,
    plain,
    other,
    fed,
    workflow: findWorkflow(plain, many),
    start: (agent: typeof plain, actions: number, id: string) =>
      runtime.start(agent, { id, input: 'Go.', model: say(actions) }),
    /** Ends calls one by one until so many are done. */
    async endAll(count: number) {
      while (done.length < count) {
        await eventually(() => expect(calls.length).toBeGreaterThan(0));
        calls[0]?.end();
      }
    },
  };
}

describe('the max_parallel of a tool', () => {
  it('holds over sessions of several agents and the steps of runs, and all come to their turn', async () => {
    const on = await stage(2);
    const sessions = [on.start(on.plain, 3, 'ses_a'), on.start(on.other, 2, 'ses_b')];
    const run = on.runtime.workflows.start(on.workflow, { id: 'run_a' });
    await eventually(() => expect(on.calls).toHaveLength(2));
    await on.endAll(8);
    for (const session of sessions) expect(await session.result).toMatchObject({ status: 'completed' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(on.most()).toBe(2);
    expect(new Set(on.done).size).toBe(8);
  });

  it('lets an action wait with its declaration alone on the log, and a cancelled session gives its slots back', async () => {
    const on = await stage(1);
    const first = on.start(on.plain, 1, 'ses_a');
    await eventually(() => expect(on.calls).toHaveLength(1));
    const second = on.start(on.plain, 2, 'ses_b');
    const types = async () => (await on.runtime.events('ses_b')).map(({ type }) => type);
    await eventually(async () => expect(await types()).toContain('turn.completed'));
    expect(await types()).not.toContain('action.started');
    const third = on.start(on.plain, 1, 'ses_c');
    await first.cancel('enough');
    await second.cancel('enough');
    await on.endAll(1);
    expect(await third.result).toMatchObject({ status: 'completed' });
    expect(on.done).toEqual(['ses_c:a0']);
  });

  it('holds for feeds, which wait for a slot as actions do', async () => {
    const on = await stage(1);
    const first = on.start(on.plain, 1, 'ses_a');
    await eventually(() => expect(on.calls).toHaveLength(1));
    const trial = await on.runtime.feeds(on.fed);
    const reading = trial.read('news');
    // What goes the same way and needs no slot is there: the other waits.
    expect((await trial.read('weather')).value).toBe('fine');
    expect(on.calls).toHaveLength(1);
    await on.endAll(2);
    expect((await reading).value).toBe('hit');
    await trial.close();
    await first.result;
    expect(on.most()).toBe(1);
  });

  it('is a whole number of one or more', async () => {
    const tool = defineTool({ name: 'none', max_parallel: 0, run: () => null });
    await expect(defineAgent({ name: 'a', tools: [tool] })).rejects.toThrow(/max_parallel/);
  });
});
