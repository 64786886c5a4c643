import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import { defineTool } from '../../../src/agent/define/definitions.ts';
import type { RuntimeOptions } from '../../../src/agent/runtime-types.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { action } from '../../recovery/say.ts';

const DONE = '<response>Done.</response>';
const made = (id: string) => action(id, 'make', { compensate: { name: 'unmake' } }, 'sync');
const ROLLBACK = '<action id="r" type="internal">{"name":"rollback","parameters":{}}</action>';

/** An agent whose `unmake`, which undoes what `make` made, a person decides on. */
async function scene(
  turns: readonly string[],
  { runtime: options = {}, limits = {} }: { runtime?: RuntimeOptions; limits?: object } = {},
) {
  const unmade: string[] = [];
  const agent = await defineAgent({
    name: 'maker',
    model: scripted(turns),
    limits,
    protocol: { final_with_actions: 'accept' },
    tools: [
      defineTool({ name: 'make', run: () => 'made' }),
      defineTool({
        name: 'unmake',
        approval: 'always',
        run: (_, { idempotencyKey }) => {
          unmade.push(idempotencyKey.replace(/.*:/, ''));
          return 'unmade';
        },
      }),
    ],
  });
  const runtime = await createRuntime({ store: 'memory', ...options });
  onTestFinished(() => runtime.close());
  const first = runtime.start(agent, { input: 'Go.' });
  return {
    runtime,
    unmade,
    id: first.id,
    result: first.result,
    async answer(approved: boolean) {
      for (const { review } of await runtime.reviews()) await runtime.answer(review, { approved, by: 'ann' });
    },
    resumed: async () => (await runtime.resume(first.id, { agent })).result,
    /** How each action stands. */
    stands: async () =>
      Object.fromEntries(
        [...(await runtime.state(first.id)).actions].map(([id, { status }]) => [id, status]),
      ),
  };
}

describe('what undoes an action and has to be approved', () => {
  const FAILED = `${made('a')}${action('f', 'nothing', { on_error: 'fail' })}${DONE}`;

  it.each([
    [true, 'compensated'],
    [false, 'completed'],
  ])('is waited for where an action ends the session (approved: %s)', async (approved, stands) => {
    const { result, resumed, answer, ...on } = await scene([FAILED]);
    const waiting = { status: 'waiting', reviews: [{ action: 'undo_a' }] };
    expect(await result).toMatchObject(waiting);
    expect(await resumed()).toMatchObject(waiting);
    expect(on.unmade).toEqual([]);
    await answer(approved);
    expect(await resumed()).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
    expect((await on.stands()).a).toBe(stands);
    expect(on.unmade).toEqual(approved ? ['undo_a'] : []);
  });

  it('is waited for by the rollback that asks for it, which then goes on with the others', async () => {
    const { result, resumed, answer, ...on } = await scene([`${made('a')}${made('b')}${ROLLBACK}${DONE}`]);
    for (const undo of ['undo_b', 'undo_a']) {
      const waiting = { status: 'waiting', reviews: [{ action: undo }] };
      expect(await (undo === 'undo_b' ? result : resumed())).toMatchObject(waiting);
      expect(await resumed()).toMatchObject(waiting);
      await answer(true);
    }
    expect(await resumed()).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(on.unmade).toEqual(['undo_b', 'undo_a']);
    expect((await on.runtime.state(on.id)).actions.get('r')?.output).toEqual({ undone: ['b', 'a'] });
    expect(await on.stands()).toMatchObject({ a: 'compensated', b: 'compensated', r: 'completed' });
  });

  it('is not joined by what the agent did while the rollback waited', async () => {
    const { result, resumed, answer, ...on } = await scene([
      `${made('a')}${ROLLBACK}`,
      made('b'),
      `<thought>I wait.</thought>`,
      DONE,
    ]);
    expect(await result).toMatchObject({ status: 'waiting' });
    await on.runtime.steer(on.id, 'Go on meanwhile.');
    expect(await resumed()).toMatchObject({ status: 'waiting' });
    expect((await on.stands()).b).toBe('completed');
    await answer(true);
    await resumed();
    expect(on.unmade).toEqual(['undo_a']);
    expect(await on.stands()).toMatchObject({ a: 'compensated', b: 'completed', r: 'completed' });
  });

  it('takes as long as a person takes, whatever the limit of an action is', async () => {
    const limitMs = 100;
    const approve = () => new Promise<boolean>((resolve) => setTimeout(resolve, 3 * limitMs, true));
    const { result, ...on } = await scene([`${made('a')}${ROLLBACK}${DONE}`], {
      runtime: { approve },
      limits: { action_timeout: `${limitMs}ms` },
    });
    expect(await result).toMatchObject({ status: 'completed' });
    expect(await on.stands()).toMatchObject({ a: 'compensated', r: 'completed' });
  });
});
