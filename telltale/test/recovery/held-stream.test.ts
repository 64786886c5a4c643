import { expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../src/agent/define/definitions.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { action } from './say.ts';
import { createStage, type Stage, seen } from './stage.ts';

/** How long an effect takes: long enough for whoever does not wait for it to be first. */
const WORK_MS = 15;

/** `x begun` and `x done` for each call of the tools `x` and `y`, in order. */
const scenario = (turn: string) => ({
  input: 'Go.',
  async setUp() {
    const effects: string[] = [];
    const tool = (name: string, idempotent: boolean) =>
      defineTool({
        name,
        idempotent,
        run: async (_, { signal }) => {
          effects.push(`${name} begun`);
          await new Promise((resolve) => setTimeout(resolve, WORK_MS));
          signal.throwIfAborted(); // a dead process does nothing more
          effects.push(`${name} done`);
          return `${name} done`;
        },
      });
    const agent = await defineAgent({
      name: 'orderly',
      protocol: { final_with_actions: 'accept' },
      model: scripted([turn, '<response>Done.</response>', '<response>Done.</response>']),
      // What is not idempotent starts when all that came before it is on the log.
      tools: [tool('x', true), tool('y', false)],
      workflows: [defineWorkflow({ name: 'long', steps: [{ name: 'x', type: 'tool', target: 'x' }] })],
    });
    return { agent, effects };
  },
});

/** Where in the log the first event is that fits. */
const at = (events: readonly SessionEvent[], fits: (event: SessionEvent) => boolean): number => {
  const index = events.findIndex(fits);
  expect(index).toBeGreaterThan(-1);
  return index;
};

for (const [what, before] of [
  ['an idempotent tool', action('first', 'x', {}, 'sync')],
  ['a workflow', action('first', 'long', {}, 'sync').replace('<action', '<action type="workflow"')],
  ['a <parallel>', `<parallel id="g">${action('first', 'x')}</parallel>`],
  ['a <parallel> without an id', `<parallel>${action('first', 'x')}</parallel>`],
] as const)
  it(`what stands behind ${what} that holds the stream up is begun when that has ended, wherever the process dies`, async () => {
    let places = 0;
    await crashEverywhere(
      scenario(`${before}${action('second', 'y')}`),
      ({ scene: { effects }, events, result }) => {
        places++;
        expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
        expect(effects.join()).not.toMatch(/y begun.*x/);
        expect(effects).toContain('x done');
        expect(at(events, (event) => event.type === 'action.completed' && event.id === 'first')).toBeLessThan(
          at(events, (event) => event.type === 'action.declared' && event.action.id === 'second'),
        );
      },
    );
    expect(places).toBeGreaterThan(20);
  });

it('a session that waits for a person at a sync action goes on with a word for it, and without one waits on', async () => {
  const stage = await createStage({
    tools: { quick: 'approval: always' },
    manifest: 'permissions: { sandbox: "off" }\n',
    turns: [action('asked', 'quick', {}, 'sync'), '<response final="false">It waits.</response>'],
  });
  expect(await stage.start().result).toMatchObject({ status: 'waiting' });
  expect(await (await stage.resume()).result).toMatchObject({ status: 'waiting' });
  expect(stage.prompts).toHaveLength(1);
  await stage.runtime.steer('ses_stage', 'What of it?');
  expect(await (await stage.resume()).result).toMatchObject({ status: 'waiting' });
  expect(stage.prompts.slice(1)).toEqual([expect.stringContaining('What of it?')]);
  expect(stage.calls()).toEqual([]);
  await stage.close();
});

/** Runs a session that waits for a person: it hears a word before the person allows what it waits for. */
async function steerThenAllow(stage: Stage): Promise<void> {
  const session = stage.start();
  await seen(session, 'session.waiting');
  await stage.runtime.steer('ses_stage', 'What of it?');
  await seen(session, 'turn.completed');
  await stage.called(1); // what does not wait for the person
  expect(stage.prompts[1]).toContain('What of it?');
  expect(stage.prompts[1]).toContain('a message came in while a person decides');
  const [review] = await stage.runtime.reviews();
  await stage.runtime.answer(review?.review ?? '', { approved: true, by: 'ann' });
  expect(await session.result).toMatchObject({ status: 'completed', result: 'Read.' });
  expect(stage.calls()).toEqual(['quick_b', 'quick']);
  expect(stage.prompts).toHaveLength(3);
}

it.each([
  ['a sync action', action('asked', 'quick', {}, 'sync')],
  ['a sync action in a thought', `<thought>I ask.${action('asked', 'quick', {}, 'sync')}`],
])(
  'a held session that waits for a person at %s goes on with a word for it, and does what stood behind once',
  async (_what, asks) => {
    const stage = await createStage({
      tools: { quick: 'approval: always', quick_b: '' },
      manifest: 'permissions: { sandbox: "off" }\n',
      turns: [
        `<response final="false">I ask.</response>${asks}${action('behind', 'quick_b')}<response final="false">Said.</response>`,
        '<response>Read.</response>',
      ],
      onWaiting: 'hold',
    });
    await steerThenAllow(stage);
    const faults = (await stage.of('fault')).map(({ code }) => code);
    expect(faults.filter((code) => code !== 'thought_left_open')).toEqual([]);
    expect((await stage.of('response')).map(({ text }) => text)).toEqual(['I ask.', 'Said.', 'Read.']);
    expect((await stage.log()).filter((event) => event.type === 'turn.failed')).toMatchObject([
      { error: { code: 'interrupted' }, retry_in: 0 },
    ]);
    await stage.close();
  },
);

it('so does one whose model calls tools natively', async () => {
  const stage = await createStage({
    tools: { quick: 'approval: always', quick_b: '' },
    manifest: 'dialect: tools\npermissions: { sandbox: "off" }\n',
    turns: [
      {
        say: [
          { call: 'quick', input: { _run: { id: 'asked', mode: 'sync' } } },
          { call: 'quick_b', input: { _run: { id: 'behind' } } },
        ],
      },
      { say: [{ call: 'respond', input: { text: 'Read.' } }] },
      { say: [{ call: 'respond', input: { text: 'Read.' } }] },
    ],
    onWaiting: 'hold',
  });
  await steerThenAllow(stage);
  expect((await stage.of('action.declared')).map(({ action: { id } }) => id)).toEqual(['asked', 'behind']);
  await stage.close();
});
