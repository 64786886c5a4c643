import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { ASKER, GUIDED, NESTED, openGate, parts, SLOW, TOOLS, WORKER } from './agents.ts';
import { openCuttingProxy } from './cutting-proxy.ts';
import { openStage, type Stage } from './open-stage.ts';
import { readList } from './read-list.ts';
import { useBrowser } from './use-browser.ts';

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined)
    stage = await openStage({
      files: {
        ...TOOLS,
        ...WORKER,
        ...ASKER,
        ...GUIDED,
        ...NESTED,
        ...SLOW,
        ...parts('broken'),
        ...parts('shared'),
      },
    });
});
afterAll(async () => {
  // What a page asks for while the stage closes may find the store closed.
  const errors = [...(stage?.errors ?? [])];
  await stage?.close();
  expect(errors).toEqual([]);
});

const begin = async (agent: string, input = 'Go.') => (await stage.client.startSession({ agent, input })).id;

async function ended(session: string): Promise<void> {
  await expect.poll(async () => (await stage.client.session(session)).status).toBe('completed');
}

async function openReview(session: string): Promise<string> {
  let review: string | undefined;
  await expect
    .poll(async () => {
      review = (await stage.client.reviews({ session })).items[0]?.review;
      return review;
    })
    .toBeDefined();
  return review ?? expect.unreachable();
}

const status = (page: Page, word: string) =>
  page.getByRole('definition').filter({ hasText: new RegExp(`^${word}$`) });

/** All of the log, as the page's list of events shows it. */
async function shownEvents(page: Page): Promise<readonly (readonly [number, string])[]> {
  await page.getByRole('tab', { name: /^Events/ }).click();
  const rows = await readList(page.getByRole('list', { name: 'Events' }));
  return rows.map(([seq = '', , type = '']) => [Number(seq), type]);
}

async function logOf(session: string): Promise<readonly (readonly [number, string])[]> {
  const { items } = await stage.client.sessionEvents(session, { limit: 10_000 });
  return items.map(({ seq, type }) => [seq, type]);
}

describe('reviews', () => {
  it('an approval lets the action run; a refusal tells the agent, with the note', async () => {
    const approved = await begin('asker', 'Ship it.');
    await openReview(approved);
    const { page } = await browsing.open(stage.at('/reviews'));
    await page.getByRole('list', { name: 'Waiting' }).getByRole('link').click();
    const detail = page.getByRole('article');
    await detail.getByText('production').waitFor();
    await detail.getByRole('heading', { name: 'May asker call the tool deploy?' }).waitFor();
    expect(await detail.innerText()).toMatch(
      /The tool deploy needs approval each time.*Approve\s+It runs exactly as shown.*Reject\s+It does not run\. asker is told/s,
    );
    await detail.getByRole('button', { name: 'Approve' }).click();
    await detail.getByRole('status').getByText('Approved by ana').waitFor();
    await ended(approved);
    expect((await stage.client.session(approved)).status).toBe('completed');

    const rejected = await begin('asker', 'Ship it again.');
    await openReview(rejected);
    await page.getByRole('list', { name: 'Waiting' }).getByRole('link').click();
    await detail.getByRole('textbox', { name: /^Note/ }).fill('Not on a Friday.');
    await detail.getByRole('button', { name: 'Reject' }).click();
    const outcome = detail.getByRole('status');
    await outcome.getByText('Rejected by ana').waitFor();
    await outcome.getByText('Not on a Friday.').waitFor();
    await detail.getByRole('link', { name: 'asker' }).click();
    const conversation = page.getByRole('log', { name: 'Conversation' });
    await conversation.getByText('It was not to be.').waitFor();
    await conversation
      .getByText(/Not on a Friday/)
      .first()
      .waitFor();
  });

  it('answers the question of a workflow on the page of the session that it guides', async () => {
    const session = await begin('guided', 'Ship it with care.');
    await expect
      .poll(async () => (await stage.client.reviews({})).items.map(({ of }) => of))
      .toContain('run');
    const { page } = await browsing.open(stage.at('/sessions'));
    await page.getByRole('link', { name: 'Waiting for you' }).waitFor();
    await page.getByRole('link', { name: 'Ship it with care.' }).click();
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText('May it ship?').waitFor();
    await waiting.getByRole('button', { name: 'Approve' }).click();
    await waiting.waitFor({ state: 'detached' });
    await ended(session);
  });

  it('answers on one page what nested workflow runs and sub-agents ask', async () => {
    const session = await begin('nested', 'Have it done.');
    const nested = async () => (await stage.client.reviews({ session })).items;
    await expect
      .poll(async () => (await nested()).map(({ of }) => of).toSorted())
      .toEqual(['run', 'session']);
    const [run] = (await stage.client.runs({ workflow: 'outer', session })).items;
    const ofRun = (await nested()).find(({ of }) => of === 'run');
    expect(ofRun?.above).toEqual([`${run?.id}.first`, run?.id, session]);
    const { page } = await browsing.open(stage.at('/sessions'), { viewport: { width: 390, height: 664 } });
    await page.getByRole('listitem').getByRole('link', { name: '2 reviews waiting' }).waitFor();
    await page.getByRole('link', { name: 'Have it done.' }).click();
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText('2 reviews waiting for you').waitFor();
    // The tabs of a telephone are in view, and the questions open by a click.
    const tabs = await page.getByRole('tablist', { name: 'Session' }).boundingBox();
    expect((tabs?.y ?? 1_000) + (tabs?.height ?? 0)).toBeLessThan(500);
    await waiting.getByRole('button', { name: 'Answer' }).click();
    const inner = waiting.getByRole('article').filter({ hasText: 'May the inner one go on?' });
    await inner.getByRole('link', { name: 'workflow inner of nested' }).waitFor();
    await inner.getByRole('button', { name: 'Approve' }).click();
    await inner.waitFor({ state: 'detached' });

    await page.setViewportSize({ width: 1440, height: 900 });
    // The short line of a telephone is still there for a moment.
    await waiting.getByText('May asker call the tool deploy?').last().waitFor();
    await waiting.getByRole('link', { name: 'asker', exact: true }).waitFor();
    await waiting.getByRole('button', { name: 'Parameters' }).click();
    await waiting.getByText('production').waitFor();
    await waiting.getByRole('button', { name: 'Approve' }).click();
    await waiting.waitFor({ state: 'detached' });
    await ended(session);
  });

  it('what was answered elsewhere is shown as answered, and an answer that came second says so', async () => {
    const session = await begin('asker');
    const review = await openReview(session);
    const first = await browsing.open(stage.at(`/reviews/${review}`));
    const other = await browsing.beside(first, stage.at(`/sessions/${session}`));
    await other.page.getByRole('button', { name: 'Approve' }).waitFor();
    first.forgive(/409/);
    // The first tab's answer is on its way when the other's arrives.
    let release = () => undefined as unknown;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await first.page.route(/\/reviews\/[^/]+\/?.*/, async (route) => {
      if (route.request().method() === 'POST') await held;
      await route.continue();
    });
    await first.page.getByRole('button', { name: 'Approve' }).click();
    await stage.client.answerReview(review, { answer: 'rejected', note: 'Too late for you.' });
    release();
    await first.page.getByText(/Your answer came second/).waitFor();
    await first.page.getByRole('status').getByText('Rejected by ana').waitFor();
    await first.page.getByText('Too late for you.').first().waitFor();
    expect(await first.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await other.page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
  });
});

it('a page whose code cannot be fetched says so and leaves the other pages alone; an unknown session links to the list', async () => {
  const { page, forgive } = await browsing.open(stage.at('/agents'));
  forgive(/Failed to load resource|dynamically imported module/);
  await page.route(/memory-page/, (route) => route.abort());
  await page.getByRole('link', { name: 'Memory' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('Reload the console.').waitFor();
  // Without a server it stays in the console, asks again by itself, and reloads once there is an answer.
  await page.route(/healthz/, (route) => route.abort());
  await alert.getByRole('button', { name: 'Reload' }).click();
  await alert.getByText('The server does not answer.').waitFor();
  await alert.getByRole('button', { name: 'Try again' }).waitFor();
  await page.unroute(/memory-page/);
  await page.unroute(/healthz/);
  await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor();
  await page.route(/artifacts-page/, (route) => route.abort());
  await page.getByRole('link', { name: 'Artifacts' }).click();
  await alert.getByText('Reload the console.').waitFor();
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();

  await page.goto(stage.at('/sessions/ses_nope'));
  const error = page.getByRole('alert');
  expect(await error.getByRole('link').innerText()).toBe('See all sessions');
  expect(await error.getByRole('button').count()).toBe(0);
});

/** It only ends what hangs: a connection that is cut again and again is tried again ever later. */
const LONG = { timeout: 150_000 };

describe('a session', () => {
  it('is steered, cancelled once that is confirmed, and resumed', async () => {
    const session = await begin('slow');
    const { page } = await browsing.open(stage.at(`/sessions/${session}`));
    await page.getByRole('textbox', { name: 'Steer the agent' }).fill('Mind the gap.');
    await page.keyboard.press('Enter');
    const conversation = page.getByRole('log', { name: 'Conversation' });
    await conversation.getByText('Mind the gap.').waitFor();

    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this session?' });
    await dialog.getByRole('button', { name: 'Keep it running' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await stage.client.session(session)).status).toBe('running');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('textbox', { name: /Reason/ }).fill('Lunch.');
    await dialog.getByRole('button', { name: 'Cancel the session' }).click();
    await status(page, 'Cancelled').waitFor();
    await conversation.getByText('The session was cancelled by ana: Lunch.').waitFor();

    await page.getByRole('button', { name: 'Resume' }).click();
    await status(page, 'Running').waitFor();
    await stage.client.cancelSession(session);
    await status(page, 'Cancelled').waitFor();
  });

  it('is branched off from an event with what is changed, and the branch begins as it did', async () => {
    const session = await begin('slow');
    const { page, forgive } = await browsing.open(stage.at(`/sessions/${session}`));
    forgive(/status of 422/); // of the model that is none
    const conversation = page.getByRole('log', { name: 'Conversation' });
    await conversation.getByText('Part 1 is done.').waitFor();
    const action = conversation.getByRole('button', { name: /^Action part1: event/ });
    const seq = Number(await action.innerText());
    await action.click();
    await page.getByRole('button', { name: 'Fork from here' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fork this session' });
    expect(await dialog.getByRole('spinbutton', { name: 'Event' }).inputValue()).toBe(String(seq));
    await dialog.getByRole('textbox', { name: /^Another message/ }).fill('Hurry up.');
    await dialog.getByRole('combobox', { name: /^Model/ }).fill('nobody');
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await dialog.getByText('The fork was not started.').waitFor();
    await dialog.getByRole('combobox', { name: /^Model/ }).fill('');
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await page.getByRole('link', { name: `forked at event ${seq}` }).waitFor();
    await conversation.getByText('Hurry up.').waitFor();
    const branch = new URL(page.url()).hash.split('/').at(-1) ?? '';
    expect(branch).not.toBe(session);
    await conversation.getByText('Part 2').first().waitFor();
    expect((await logOf(branch)).slice(1, seq)).toEqual((await logOf(session)).slice(1, seq));
    await page.getByRole('link', { name: `forked at event ${seq}` }).click();
    await expect.poll(() => page.url()).toContain(`${session}?at=${seq}`);
    await page.getByText('As it was at').waitFor();
    // From its start, with another input.
    await page.goto(stage.at(`/sessions/${session}?at=1`));
    await page.getByRole('button', { name: 'Fork from 1' }).click();
    const input = dialog.getByRole('textbox', { name: 'Message' });
    expect(await input.inputValue()).toBe('Go.');
    await input.fill('Go slowly.');
    await dialog.getByRole('button', { name: 'Start the fork' }).click();
    await page.getByRole('heading', { name: 'slow Go slowly.' }).waitFor();
    await stage.client.cancelSession(new URL(page.url()).hash.split('/').at(-1) ?? '');
    for (const each of [branch, session]) await stage.client.cancelSession(each);
  });

  it('is shown whole and in order after its stream has broken again and again', LONG, async () => {
    const proxy = await openCuttingProxy(stage.port);
    onTestFinished(() => proxy.close());
    const session = await begin('broken');
    const link = stage.at(`/sessions/${session}`).replace(`:${stage.port}/`, `:${proxy.port}/`);
    const { page, forgive } = await browsing.open(link, { viewport: { width: 1440, height: 2600 } });
    forgive(/net::ERR_|Failed to fetch/);
    const shown = async () => Number(await page.getByRole('slider', { name: 'Event' }).getAttribute('max'));
    const banner = page.getByText('The connection to the server is lost.');
    await expect.poll(shown).toBeGreaterThan(20);

    proxy.cutAfter(18_000);
    proxy.cut();
    for (const part of [0, 1, 2]) openGate(stage.folder, `broken-${part}`);
    await page.getByRole('option', { name: /^echo, t3a14, completed/ }).waitFor(LONG);
    expect(proxy.cuts()).toBeGreaterThan(1);

    proxy.down();
    await banner.waitFor();
    const before = await shown();
    for (const part of [3, 4]) openGate(stage.folder, `broken-${part}`);
    await expect.poll(async () => (await stage.client.session(session)).turn).toBe(6);
    expect(await shown()).toBe(before);
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    proxy.up();
    await banner.waitFor({ state: 'detached' });
    await expect.poll(shown).toBeGreaterThan(before);

    for (const part of [5, 6, 7]) {
      proxy.cut();
      openGate(stage.folder, `broken-${part}`);
    }
    await ended(session);
    await status(page, 'Completed').waitFor();
    const log = await logOf(session);
    expect(log.length).toBeGreaterThan(400);
    expect(await shownEvents(page)).toEqual(log);
  });

  it('is the same in two tabs, while it runs and at its end', async () => {
    const left = await browsing.open(stage.at('/sessions'), { viewport: { width: 1440, height: 2600 } });
    const right = await browsing.beside(left, stage.at('/sessions'));
    const tabs = [left.page, right.page] as const;
    const session = await begin('shared', 'Be watched by two.');
    const conversations = tabs.map((page) => page.getByRole('log', { name: 'Conversation' }));
    const said = () => Promise.all(conversations.map((each) => each.innerText()));
    const agree = async () => {
      await expect.poll(async () => new Set(await said()).size).toBe(1);
    };
    for (const page of tabs) await page.getByRole('link', { name: 'Be watched by two.' }).click();
    for (const part of [0, 1, 2, 3, 4, 5, 6, 7]) {
      openGate(stage.folder, `shared-${part}`);
      if (part !== 3) continue;
      for (const each of conversations) await each.getByText('Part 3: open.').waitFor();
      await agree();
    }
    await ended(session);
    for (const page of tabs) await status(page, 'Completed').waitFor();
    for (const each of conversations) await each.getByText('That was all.').waitFor();
    await agree();
    const log = await logOf(session);
    for (const page of tabs) expect(await shownEvents(page)).toEqual(log);

    for (const page of tabs)
      await page.getByRole('navigation').getByRole('link', { name: 'Sessions' }).click();
    await expect
      .poll(() => rowsOf(right.page))
      .toContainEqual(expect.stringMatching(/^Completed Be watched/));
    await expect.poll(async () => (await rowsOf(left.page)).join()).toBe((await rowsOf(right.page)).join());
  });
});

/** The list of sessions, but for how long ago each began. */
const rowsOf = async (page: Page) =>
  (await page.getByRole('list', { name: 'Sessions' }).getByRole('listitem').allInnerTexts()).map((row) =>
    row
      .replaceAll(/(\d+ \w+ ago|just now|now)/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

describe('a server that wants a token', () => {
  it('is asked with one, says what is wrong with another, and a reader starts and approves nothing', async () => {
    const guarded = await openStage({ files: { ...TOOLS, ...ASKER } });
    onTestFinished(() => guarded.close());
    const { id } = await guarded.client.startSession({ agent: 'asker', input: 'Ship it.' });
    const { page, forgive } = await browsing.open(guarded.url);
    forgive(/401/);
    const field = page.getByRole('textbox', { name: 'Token' });
    await field.fill('tt_guessed');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByText(/token/i)
      .filter({ hasText: /not|unknown|no / })
      .first()
      .waitFor();
    await field.fill(await guarded.token('reader', 'read'));
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByText('reader · read').waitFor();
    await page.getByRole('link', { name: 'Ship it.' }).click();
    for (const name of ['Approve', 'Reject', 'Fork', 'Steer']) {
      const button = page.getByRole('button', { name, exact: true });
      await button.waitFor();
      expect(await button.isDisabled(), name).toBe(true);
      expect(await button.getAttribute('title')).toContain('needs the role "run"');
      await button.click({ force: true });
    }
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: 'What should the agent do?' }).fill('Nothing.');
    const start = page.getByRole('button', { name: 'Start', exact: true });
    expect(await start.isDisabled()).toBe(true);
    await start.click({ force: true });
    expect((await guarded.client.sessions()).items.map((each) => each.id)).toEqual([id]);
    expect((await guarded.client.reviews()).items).toHaveLength(1);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await field.fill(await guarded.token('runner', 'run'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('runner · run').waitFor();
  });
});

describe('a first visit', () => {
  it('starts the tour with one click, and then an example with another model', async () => {
    const more = 'examples: [Leap over the brook.]\nmodels: { quick: "scripted:./worker.turns.yml" }\n';
    const files = { ...TOOLS, ...WORKER };
    const first = await openStage({
      files: { ...files, 'worker.agent.yml': `${files['worker.agent.yml'] ?? ''}${more}` },
    });
    onTestFinished(() => first.close());
    const { page } = await browsing.open(first.at('/sessions'));
    await page.getByRole('button', { name: 'Run it and take the tour' }).click();
    const tour = page.getByRole('region', { name: 'Tour' });
    await tour.getByText('1 of 5').waitFor();
    await status(page, 'Completed').waitFor();
    await page.getByRole('heading', { name: 'worker Leap over the brook.' }).waitFor();
    for (let stop = 2; stop <= 5; stop++) {
      await tour.getByRole('button', { name: 'Next' }).click();
      await tour.getByText(`${stop} of 5`).waitFor();
    }
    await tour.getByRole('button', { name: 'Finish' }).click();
    await tour.waitFor({ state: 'detached' });

    await page.goto(first.at('/start/worker'));
    await page.getByRole('list', { name: 'Examples' }).getByRole('button').click();
    expect(await page.getByRole('textbox', { name: 'What should the agent do?' }).inputValue()).toBe(
      'Leap over the brook.',
    );
    expect(await page.locator('datalist option').getAttribute('value')).toBe('quick');
    await page.getByRole('combobox', { name: /^Model/ }).fill('quick');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await status(page, 'Completed').waitFor();
    const { items } = await first.client.sessions();
    expect(items.map(({ title }) => title)).toEqual(['Leap over the brook.', 'Leap over the brook.']);
  });
});

describe('while manifests are edited', () => {
  it('a broken edit shows where it is broken, and the version before it stays in use', async () => {
    const live = await openStage({ files: { ...TOOLS, ...WORKER }, dev: true });
    onTestFinished(() => live.close());
    const { page } = await browsing.open(live.at('/agents/worker'));
    await page.getByText('Leaps once it has looked.').first().waitFor();
    const file = join(live.folder, 'worker.agent.yml');
    const text = WORKER['worker.agent.yml'] ?? '';
    const edit = (now: string) => {
      // As editors do: beside it first, then in its place.
      writeFileSync(`${file}~`, now);
      renameSync(`${file}~`, file);
    };
    edit(text.replace('description:', 'descripton:'));
    await page.getByText(/^The version from .* is in use/).waitFor();
    await page.getByText(/Did you mean "description"/).waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('textbox', { name: 'What should the agent do?' }).fill('Leap.');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await status(page, 'Completed').waitFor();
    await page.getByRole('link', { name: 'Agents' }).click();
    await page.getByRole('link', { name: 'worker' }).click();
    edit(text.replace('Leaps', 'Jumps'));
    await page.getByText('Jumps once it has looked.').first().waitFor();
    await expect.poll(() => page.getByText(/is in use\./).count()).toBe(0);
  });
});
