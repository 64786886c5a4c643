import { afterAll, beforeAll, expect, it } from 'vitest';
import { generateLog } from '../console/generate-log.ts';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call, TOOLS } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { readList } from './read-list.ts';
import { smoothnessText, watchSmoothness } from './smoothness.ts';
import { useBrowser } from './use-browser.ts';

const ACTIONS = 1_000;
const MANY = agent(
  'plenty',
  {
    // Quick, but not so quick that there is nothing to watch.
    tokens_per_second: 10_000,
    chunk: 64,
    turns: [
      `${Array.from({ length: ACTIONS }, (_, at) => call(`a${at}`, 'echo', { at })).join('\n')}
<response>All of them.</response>`,
      '<response final="true"/>',
    ],
  },
  'limits: { turns: 5 }\n',
);

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: { ...TOOLS, ...MANY } });
});
afterAll(async () => {
  await stage?.close();
});

it('a session of 1,000 actions is watched as it comes, and all of it can be scrolled to', {
  timeout: 120_000,
}, async () => {
  const { page } = await browsing.open(stage.at('/sessions'), { viewport: { width: 1440, height: 2200 } });
  const smoothness = await watchSmoothness(page);
  const { id } = await stage.client.startSession({ agent: 'plenty', input: 'Do a thousand things.' });
  await page.getByRole('link', { name: 'Do a thousand things.' }).click();
  await page
    .getByRole('definition')
    .filter({ hasText: /^Completed$/ })
    .waitFor();
  console.log(`1,000 actions, live: ${smoothnessText(await smoothness())}`);

  const bars = await readList(page.getByRole('listbox', { name: /over time/ }));
  console.log(`1,000 actions, scrolled: ${smoothnessText(await smoothness())}`);
  const actions = bars.flatMap(([label = '']) => /^echo, (a\d+), completed/.exec(label)?.[1] ?? []);
  expect(actions).toEqual(Array.from({ length: ACTIONS }, (_, at) => `a${at}`));

  await page.getByRole('tab', { name: /^Events/ }).click();
  const rows = await readList(page.getByRole('list', { name: 'Events' }));
  const { items } = await stage.client.sessionEvents(id, { limit: 10_000 });
  expect(rows.map(([seq = '', , type = '']) => [Number(seq), type])).toEqual(
    items.map(({ seq, type }) => [seq, type]),
  );
  expect(rows.length).toBeGreaterThan(3 * ACTIONS);
});

it('a session of 50,000 events opens, and shows the state of the log at any of them', {
  timeout: 120_000,
}, async () => {
  const events = generateLog({ turns: 760, actions: 20 });
  expect(events.length).toBeGreaterThan(50_000);
  await stage.write(events);
  const session = events[0]?.session ?? '';
  const { page } = await browsing.open(stage.at('/agents'));
  const began = performance.now();
  await page.goto(stage.at(`/sessions/${session}`));
  const slider = page.getByRole('slider', { name: 'Event' });
  await page
    .getByText(`${events.length.toLocaleString('en')} / ${events.length.toLocaleString('en')}`)
    .waitFor();
  console.log(`${events.length} events: open after ${Math.round(performance.now() - began)} ms`);

  const smoothness = await watchSmoothness(page);
  const metadata = page.getByRole('region', { name: 'Metadata' }).last();
  for (const at of [0.5, 0.01, 0.99, 0.333, 0.75]) {
    const seq = Math.round(events.length * at);
    await slider.fill(String(seq));
    await page.getByText('As it was at').waitFor();
    const state = await stage.runtime.state(session, seq);
    await expect
      .poll(async () => (await metadata.innerText()).replaceAll(/\s+/g, ' '))
      .toContain(`status: ${state.metadata.status} progress: ${state.metadata.progress}`);
    const figure = (name: string) =>
      page
        .getByRole('term')
        .filter({ hasText: new RegExp(`^${name}$`) })
        .first()
        .locator('xpath=following-sibling::dd');
    expect(await figure('Turn').innerText()).toBe(String(state.turn));
    expect(await figure('Tokens in').innerText()).toBe(state.totals.input.toLocaleString('en'));
    expect(await figure('Status').innerText()).toBe('Running');
    expect(await page.getByRole('tab', { name: /^Events/ }).innerText()).toContain(String(seq));
  }
  console.log(`${events.length} events, scrubbed: ${smoothnessText(await smoothness())}`);
  await page.keyboard.press('Escape');
  await page.getByText('As it was at').waitFor({ state: 'detached' });
});
