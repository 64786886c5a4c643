import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { tool } from '../session/run-agent.ts';
import { agent, call } from './agents.ts';
import { inPage } from './in-page.ts';
import { openStage, type Stage } from './open-stage.ts';
import { until } from './until.ts';
import { useBrowser } from './use-browser.ts';

/** Turns of a moment, and a tool that takes many times as long: the waterfall opens close enough for a turn to be read. */
const NAPPER = {
  ...tool('nap', 'await new Promise((next) => setTimeout(next, 1_500)); return "awake";'),
  ...agent('napper', {
    turns: [`<thought>A nap.</thought>${call('n1', 'nap')}`, '<response>Awake.</response>'],
  }),
};

const browsing = useBrowser();
/** Sessions that are looked at before none is found whose turns took a moment: the first of a process are slow. */
const MAX_TRIES = 6;
let stage: Stage;
beforeAll(async () => {
  if (browserPath === undefined) return;
  stage = await openStage({ files: NAPPER });
  await napped();
});
afterAll(async () => {
  await stage?.close();
});

async function napped(): Promise<string> {
  const { id } = await stage.client.startSession({ agent: 'napper', input: 'Sleep.' });
  await until(async () => (await stage.client.session(id)).status === 'completed');
  return id;
}

/** How far the axis has been moved, and how far it can be. */
const scrolled = inPage<unknown, readonly [number, number]>(`(list) => {
  let at = list;
  while (getComputedStyle(at).overflowX !== 'auto') at = at.parentElement;
  return [at.scrollLeft, at.scrollWidth - at.clientWidth];
}`);
const scrollTo = inPage<unknown, void>(`(list, left) => {
  let at = list;
  while (getComputedStyle(at).overflowX !== 'auto') at = at.parentElement;
  at.scrollLeft = left;
}`);

/** The waterfall of a new session, and how to look at it. */
async function opened() {
  const { page } = await browsing.open(stage.at(`/sessions/${await napped()}`));
  const rows = page.getByRole('listbox', { name: /over time/ });
  const first = rows.getByRole('option').first();
  await first.waitFor();
  // Whoever points at it has it drawn again.
  const look = async () => {
    await first.hover();
    await rows.getByRole('option').last().hover();
    return rows.evaluate(scrolled);
  };
  return { rows, look };
}

it('the waterfall of a session that is over does not go to its end, and stays where somebody moves it', async () => {
  let { rows, look } = await opened();
  let [left, most] = await look();
  for (let tries = 1; most <= 500 && tries < MAX_TRIES; tries++) {
    ({ rows, look } = await opened());
    [left, most] = await look();
  }
  expect(most).toBeGreaterThan(500);
  expect(left).toBeLessThan(most / 4);
  await rows.evaluate(scrollTo, most / 2);
  const [moved] = await look();
  expect(Math.round(moved)).toBe(Math.round(most / 2));
});
