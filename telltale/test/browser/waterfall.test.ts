import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call, openGate, TOOLS } from './agents.ts';
import { inPage } from './in-page.ts';
import { openStage, type Stage } from './open-stage.ts';
import { useBrowser } from './use-browser.ts';

/** Many short turns, each with many actions, and a tool that waits for the test. */
const WALKER = agent('walker', {
  turns: [
    ...Array.from({ length: 3 }, (_, turn) =>
      Array.from({ length: 12 }, (_each, at) => call(`t${turn}a${at}`, 'echo', { at })).join('\n'),
    ),
    call('gate', 'gate', { name: 'walked' }),
    '<response>Here.</response>',
  ],
});

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: { ...TOOLS, ...WALKER } });
});
afterAll(async () => {
  await stage?.close();
});

/** How far a list has been moved to the right and down, and how far it can be. */
const scrolled = inPage<unknown, Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>>(`(list) => {
  let at = list;
  while (getComputedStyle(at).overflowX !== 'auto') at = at.parentElement;
  const { scrollLeft: left, scrollTop: top } = at;
  return { left, top, right: at.scrollWidth - at.clientWidth, bottom: at.scrollHeight - at.clientHeight };
}`);
const scrollTo = inPage<unknown, void>(`(list, left) => {
  let at = list;
  while (getComputedStyle(at).overflowX !== 'auto') at = at.parentElement;
  at.scrollLeft = left;
}`);

it('the waterfall opens with all of the session in view, follows it while it runs, and stays where somebody moves it', async () => {
  const { id } = await stage.client.startSession({ agent: 'walker', input: 'Walk.' });
  const { page } = await browsing.open(stage.at(`/sessions/${id}`));
  const rows = page.getByRole('listbox', { name: /over time/ });
  const look = () => rows.evaluate(scrolled);
  // While it runs: all of the time, and the newest row.
  await rows.getByRole('option', { name: /^gate, gate/ }).waitFor();
  const live = await look();
  expect(live.right).toBeLessThanOrEqual(1);
  expect(live.bottom).toBeGreaterThan(100);
  expect(live.bottom - live.top).toBeLessThanOrEqual(1);
  openGate(stage.folder, 'walked');
  await page
    .getByRole('definition')
    .filter({ hasText: /^Completed$/ })
    .waitFor();

  // Once it is over: all of the time, from its beginning.
  await page.reload();
  await rows.getByRole('option', { name: /^echo, t0a0/ }).waitFor();
  expect(await look()).toMatchObject({ left: 0, top: 0 });
  expect((await look()).right).toBeLessThanOrEqual(1);
  const zoomIn = page.getByRole('button', { name: 'Zoom in (+)' });
  for (let times = 0; times < 4; times++) await zoomIn.click();
  const { right } = await look();
  expect(right).toBeGreaterThan(500);
  await rows.evaluate(scrollTo, Math.round(right / 2));
  await rows.getByRole('option').first().hover();
  expect(Math.round((await look()).left)).toBe(Math.round(right / 2));
});
