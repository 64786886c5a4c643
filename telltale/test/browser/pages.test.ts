import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { ASKER, SLOW, TOOLS, WORKER } from './agents.ts';
import { inPage } from './in-page.ts';
import { loadFigures, loadText } from './load-figures.ts';
import { openStage, type Stage } from './open-stage.ts';
import { tooWide } from './too-wide.ts';
import { until } from './until.ts';
import { useBrowser } from './use-browser.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const TOUR = join(ROOT, 'telltale/transcripts/tour');
/** Where a person looks at every page; below what git ignores. */
const SHOTS = join(ROOT, '.cache/screenshots');
/** The pictures of the README, which are only taken anew when somebody asks for it: `UPDATE_SHOTS=1`. */
const IMAGES = process.env.UPDATE_SHOTS === '1' ? join(ROOT, 'docs/images') : undefined;
const MAX_IMAGE_BYTES = 200_000;
const MAX_SCRIPT_KB = 250;
const PACKET_BYTES = 2_500;

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };

/** The tour's files; for pictures at its own pace, else as quick as it can be. */
function tourFiles(): Readonly<Record<string, string>> {
  const files = readdirSync(TOUR, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(TOUR, name)).isFile(),
  );
  const texts = files.map((name) => [name, readFileSync(join(TOUR, name), 'utf8')] as const);
  return Object.fromEntries(
    texts.map(([name, text]) => [
      `tour/${name}`,
      IMAGES === undefined ? text.replace('tokens_per_second: 45', 'tokens_per_second: 2000') : text,
    ]),
  );
}

const browsing = useBrowser();
let stage: Stage;
/** A session of the tour that has completed, one that waits for a person, one that runs. */
let done: string;
let waiting: string;
beforeAll(async () => {
  if (browserPath === undefined) return;
  stage = await openStage({ files: { ...tourFiles(), ...TOOLS, ...WORKER, ...ASKER, ...SLOW }, dev: true });
  const { client } = stage;
  const begin = async (agent: string, input: string) => (await client.startSession({ agent, input })).id;
  done = await begin('release_agent', 'Release what was added since 1.3.0.');
  for (const what of ['Look before the winter comes.', 'Leap over the brook.']) await begin('worker', what);
  await begin('slow', 'Go through the parts, one after the other.');
  const reviewOf = (session: string) =>
    until(async () => (await client.reviews({ session })).items[0]?.review);
  await client.answerReview(await reviewOf(done), { answer: 'approved' });
  await until(async () => (await client.session(done)).status === 'completed');
  waiting = await begin('asker', 'Bring the new version to production.');
  await reviewOf(waiting);
  const dropped = await begin('asker', 'Bring the old version back.');
  await reviewOf(dropped);
  await client.cancelSession(dropped, 'Not needed any more.');
}, 120_000);
afterAll(async () => {
  await stage?.close();
});

/** Every page there is, by the name of its pictures. */
async function allPages(): Promise<readonly (readonly [name: string, path: string])[]> {
  const { client } = stage;
  const [review] = (await client.reviews({ session: waiting })).items;
  const [run] = (await client.runs({ workflow: 'keep_changelog' })).items;
  return [
    ['sessions', '/sessions'],
    ['session', `/sessions/${done}`],
    ['session-then', `/sessions/${done}?at=20`],
    ['session-waiting', `/sessions/${waiting}`],
    ['start', '/start'],
    ['start-agent', '/start/release_agent'],
    ['start-variables', '/start/asker'],
    ['reviews', '/reviews'],
    ['review', `/reviews/${review?.review}`],
    ['workflows', '/workflows'],
    ['workflow', '/workflows/release_agent/keep_changelog'],
    ['run', `/runs/${run?.id}`],
    ['agents', '/agents'],
    ['agent', '/agents/release_agent'],
    ['artifacts', '/artifacts'],
    ['memory', '/memory'],
    ['activity', '/activity'],
    ['nowhere', '/nowhere'],
  ];
}

/** Until nothing is read or fetched any more and every color has settled. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByText(/^(Reading|Fetching|Asking)/).count()).toBe(0);
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter((one) => one.effect?.getComputedTiming().endTime !== Infinity)
    .map((one) => one.finished.catch(() => undefined)))`);
}

interface AxeFound {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly string[];
}

/** What keeps people from using the page, seriously or wholly. */
const barriers = async (page: Page): Promise<readonly AxeFound[]> => {
  return page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)) })))`);
};

// First, while some of it still runs.
if (IMAGES !== undefined)
  it('the pictures of the README', { timeout: 120_000 }, async () => {
    const folder = IMAGES ?? '';
    mkdirSync(folder, { recursive: true });
    const [run] = (await stage.client.runs({ workflow: 'keep_changelog' })).items;
    for (const [name, path, colorScheme] of [
      ['session', `/sessions/${done}`, 'dark'],
      ['sessions', '/sessions', 'light'],
      ['run', `/runs/${run?.id}`, 'dark'],
    ] as const) {
      const { page } = await browsing.open(stage.at(path), {
        colorScheme,
        reducedMotion: 'reduce',
        viewport: name === 'session' ? WIDE : { width: 1280, height: 800 },
      });
      if (name === 'run') await page.getByRole('button', { name: 'Zoom in' }).waitFor();
      await settled(page);
      const file = join(folder, `${name}.png`);
      await page.screenshot({ path: file });
      expect(statSync(file).size, name).toBeLessThan(MAX_IMAGE_BYTES);
    }
  });

/** Where the content of a page begins and ends, across: the same on all pages. */
const deps = inPage<void, string>(`() => {
  const { left, right } = document.querySelector('#main > div').getBoundingClientRect();
  return [left, right, document.querySelector('h1').getBoundingClientRect().left].join(' to ');
}`);

/** Looks at a page in every dress: takes its pictures, and tells what is wrong with it. */
async function inspect(
  page: Page,
  name: string,
  path: string,
  widths: Set<string>,
): Promise<readonly string[]> {
  const found: string[] = [];
  await page.goto(stage.at(path));
  await page.evaluate(axe.source);
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [width, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
      await page.setViewportSize(viewport);
      await settled(page);
      await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}-${width}.png`) });
      if (width === 'wide') widths.add(await page.evaluate(deps));
      for (const out of await tooWide(page)) found.push(`${name}: wider than ${viewport.width} px: ${out}`);
      // Each color scheme once, and each width once.
      if ((colorScheme === 'dark') === (width === 'wide'))
        for (const { id, impact, help, nodes } of await barriers(page))
          found.push(`${name}, ${colorScheme}, ${width}: ${impact} ${id}: ${help}\n${nodes.join('\n')}`);
    }
  }
  return found;
}

it('every page is free of serious barriers, in light and dark, and fits a telephone', {
  timeout: 180_000,
}, async () => {
  mkdirSync(SHOTS, { recursive: true });
  const pages = [...(await allPages())];
  const found: string[] = [];
  const widths = new Set<string>();
  /** Two at a time: a page takes a core. */
  const visit = async () => {
    const { page, forgive } = await browsing.open(stage.at('/sessions'), { reducedMotion: 'reduce' });
    forgive(/404.*\/memory\/stats/); // how the page learns that an agent has no memory
    for (let next = pages.shift(); next !== undefined; next = pages.shift())
      found.push(...(await inspect(page, ...next, widths)));
  };
  await Promise.all([visit(), visit()]);
  console.log(`pictures of every page: ${relative(process.cwd(), SHOTS)}`);
  expect(found).toEqual([]);
  expect([...widths]).toHaveLength(1);
});

it('the first page comes with little, packed, and is kept', async () => {
  const { page } = await browsing.open('about:blank');
  const figures = await loadFigures(page, stage.at('/sessions'), () =>
    page.getByRole('list', { name: 'Sessions' }).waitFor(),
  );
  console.log(loadText(figures));
  expect(figures.scriptKb).toBeLessThanOrEqual(MAX_SCRIPT_KB);
  expect(figures.assets.length).toBeGreaterThan(1);
  for (const { url, encoding, cache, bytes } of figures.assets) {
    // Packing what fits into a packet gains nothing.
    if (bytes > PACKET_BYTES) expect(encoding, url).toMatch(/^(gzip|br|zstd)$/);
    expect(cache, url).toContain('max-age=31536000');
  }
});
