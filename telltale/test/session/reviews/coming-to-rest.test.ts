import { afterEach, expect, it } from 'vitest';
import { action } from '../../recovery/say.ts';
import { createStage, type Stage, type StageOptions, seen } from '../../recovery/stage.ts';

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function staged(options: StageOptions): Promise<Stage> {
  stage = await createStage({ manifest: 'permissions: { sandbox: "off" }\n', ...options });
  return stage;
}

const ASKED = { quick: 'approval: always' };
const DONE = '<response>Done.</response>';

it('a session that has waited for the first of its actions is let go of when only the one is left that a person decides on', async () => {
  const { start, open } = await staged({
    tools: { short: '', long: '', ...ASKED },
    turns: [
      `${action('a', 'short')}${action('b', 'long')}${action('r', 'quick')}`,
      '<thought>I wait.</thought>',
      DONE,
    ],
  });
  const session = start();
  await seen(session, 'turn.completed', 2);
  open('short');
  await seen(session, 'turn.completed', 3);
  open('long');
  expect(await session.result).toMatchObject({ status: 'waiting', reviews: [{ action: 'r' }] });
});
