import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { ASKER, SLOW, TOOLS } from './agents.ts';
import { focused, tabTo } from './focus.ts';
import { openStage, type Stage } from './open-stage.ts';
import { useBrowser } from './use-browser.ts';

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: { ...TOOLS, ...ASKER, ...SLOW } });
});
afterAll(async () => {
  await stage?.close();
});

it('a session is started, its review answered and its time walked through without a pointer', async () => {
  const { page } = await browsing.open(stage.at('/'));
  await page.getByRole('button', { name: 'Start asker' }).waitFor();
  const stops = await tabTo(page, 'Start asker');
  expect(stops.slice(0, 5)).toEqual(['Skip to content', 'Telltale', 'New sessionn', 'Sessions', 'Reviews']);
  expect(stops.at(-2)).toBe('asker');
  await page.keyboard.press('Enter');

  await page.getByRole('textbox', { name: 'What should the agent do?' }).waitFor();
  await expect.poll(async () => (await focused(page)).name).toContain('What should the agent do?');
  await page.keyboard.type('Ship it.');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('region', { name: 'Waiting for you' }).waitFor();
  // Whoever arrives by keyboard is told where: the focus is on the page's heading.
  expect((await focused(page)).name).toContain('asker');

  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('heading', { name: 'Reviews', level: 1 }).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('article').getByText('production').waitFor();
  await page.keyboard.press('e');
  expect(await focused(page)).toMatchObject({ name: expect.stringContaining('Note'), isVisible: true });
  await page.keyboard.type('Go ahead, r and a.');
  await page.keyboard.press('Escape');
  await page.keyboard.press('a');
  await page.getByRole('status').getByText('Approved by ana').waitFor();
  await page.getByRole('status').getByText('Go ahead, r and a.').waitFor();

  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.getByRole('link', { name: 'Ship it.' }).waitFor();
  await page.keyboard.press('j');
  await expect.poll(() => focused(page)).toMatchObject({ name: 'Ship it.', isVisible: true });
  await page.keyboard.press('Enter');
  await page
    .getByRole('definition')
    .filter({ hasText: /^Completed$/ })
    .waitFor();
  await tabTo(page, 'Event');
  await page.keyboard.press('Home');
  const slider = page.getByRole('slider', { name: 'Event' });
  expect(await slider.inputValue()).toBe('1');
  await page.getByText('As it was at').waitFor();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('.');
  expect(await slider.inputValue()).toBe('3');
  expect(await slider.getAttribute('aria-valuetext')).toMatch(/^Event 3 of \d+: /);
  await page.keyboard.press('Escape');
  await page.getByText('As it was at').waitFor({ state: 'detached' });

  await tabTo(page, /over time/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page
    .getByRole('tabpanel')
    .getByRole('heading', { name: /^Event \d+/ })
    .waitFor();
  expect(await page.locator('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])').count()).toBe(0);
});

it('a dialog keeps the focus inside, and gives it back', async () => {
  const { id } = await stage.client.startSession({ agent: 'slow', input: 'Take your time.' });
  const { page } = await browsing.open(stage.at(`/sessions/${id}`));
  await page.getByRole('button', { name: 'Cancel' }).waitFor();
  await tabTo(page, 'Cancel');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Cancel this session?' });
  await dialog.waitFor();
  const inside = new Set<string>();
  for (let pressed = 0; pressed < 10; pressed++) {
    await page.keyboard.press('Tab');
    const now = await focused(page);
    if (now.name === '') continue; // the browser's own frame is behind the last control
    expect(now).toMatchObject({ isInDialog: true, isVisible: true });
    inside.add(now.name);
  }
  expect([...inside]).toEqual(expect.arrayContaining(['Close', 'Keep it running', 'Cancel the session']));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect(await focused(page)).toMatchObject({ name: 'Cancel', isVisible: true });

  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
  expect((await focused(page)).name).toBe('Cancel');
  await stage.client.cancelSession(id);
});

it('who skips to the content is there', async () => {
  const { page } = await browsing.open(stage.at('/agents'));
  await page.getByRole('button', { name: 'Start asker' }).waitFor();
  await tabTo(page, 'Skip to content');
  await page.keyboard.press('Enter');
  const stops = await tabTo(page, 'Start asker');
  expect(stops).not.toContain('Telltale');
});
