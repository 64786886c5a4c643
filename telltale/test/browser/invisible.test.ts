import { afterAll, beforeAll, expect, it } from 'vitest';
import { tool } from '../agent/run-agent.ts';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { useBrowser } from './use-browser.ts';

/** A direction override, a zero-width space, a tag character, a filler and a soft hyphen in what is to run. */
const HIDDEN = 'deploy \u202Egnp.exe\u202C a\u200Bb \u{E0041}x \u3164y s\u00ADh';
const RAW = /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u00ad\u3164]|[\u{e0000}-\u{e007f}]/u;

const FILES = {
  ...agent('hider', {
    turns: [call('ask', 'ask', { 'key\u2066': HIDDEN }), '<response>Told.</response>'],
  }),
  ...tool('ask', 'return input;', 'approval: always\n'),
};

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: FILES });
});
afterAll(async () => {
  await stage?.close();
});

it('a review shows every invisible character of what will run spelled out, with a warning', {
  timeout: 120_000,
}, async () => {
  const { id } = await stage.client.startSession({ agent: 'hider', input: 'Go.' });
  const open = async () => (await stage.client.reviews()).items;
  await expect.poll(async () => (await open()).length).toBe(1);
  const [review] = await open();
  const { page } = await browsing.open(stage.at(`/reviews/${review?.review}`), {
    viewport: { width: 1440, height: 1200 },
  });
  const article = page.getByRole('article');
  await article.getByText('\\u{202E}gnp.exe\\u{202C}').first().waitFor();
  const text = await article.innerText();
  for (const mark of ['\\u{200B}', '\\u{E0041}', '\\u{3164}', '\\u{00AD}', 'key\\u{2066}'])
    expect(text).toContain(mark);
  expect(text).toMatch(/Contains \d+ invisible or direction-changing characters, shown as \\u\{…\}/);
  expect(text).not.toMatch(RAW);

  await page.goto(stage.at(`/sessions/${id}`));
  const waiting = page.getByRole('region', { name: 'Waiting for you' });
  await waiting.getByRole('button', { name: 'Parameters' }).click();
  await waiting.getByText('\\u{202E}gnp.exe').first().waitFor();
  const card = await waiting.innerText();
  expect(await page.getByRole('main').innerText()).not.toMatch(RAW);
  expect(card).toContain('invisible or direction-changing characters');
  expect(card).not.toMatch(RAW);
});
