import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { quarantine } from '../../src/store/quarantine.ts';
import { Scene, step, steps } from '../security/changes-scene.ts';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call, DISPUTED } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { tooWide } from './too-wide.ts';
import { useBrowser } from './use-browser.ts';

/** Where a person looks at the pages; below what git ignores. */
const SHOTS = fileURLToPath(new URL('../../../.cache/screenshots', import.meta.url));
const LONG = { timeout: 120_000 };
const WHY = 'The process hung 2 times while it recovered \u202Ethis.';
const SHOWN_WHY = 'The process hung 2 times while it recovered \\u{202E}this.';
/** The model names the script, and can put what cannot be seen into its name. */
const SCRIPT = 'build\u202Ehs.sh';

const builder = agent('builder', {
  turns: [
    call('a', 'shell', { command: `sh ${SCRIPT} && make -C . all && python3 tool.py` }),
    '<response final="true">Built.</response>',
    '<response final="true">Built.</response>',
  ],
});
const REPORT = `<thought>I look first,
and then I write.</thought>
<response>## Report

These lines are broken
where the model liked, with <b>markup</b>.

- [docs](https://docs.example/) and [bad](javascript:alert(1))

![pixel](https://evil.example/pixel.png)

\`\`\`ts
const answer = 42;
\`\`\`</response>`;
const FILES = {
  ...agent('writer', { turns: [REPORT] }),
  ...DISPUTED,
  ...builder,
  'builder.agent.yml': (builder['builder.agent.yml'] ?? '')
    .replace('"./tools/*.yml"', '"builtin:shell"')
    .replace('sandbox: "off"', 'shell: ask, sandbox: "off"'),
  'builder.held.flow.yml': `kind: Workflow
name: held
steps:
  - { name: pause, type: wait, event: custom, match: { name: go } }
`,
  [SCRIPT]: 'echo built\n',
  Makefile: 'all:\n\techo made\n',
  'tool.py': 'print(1)\n',
};

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: FILES });
});
afterAll(async () => {
  await stage?.close();
});

/** Pictures of a page in both colors, wide and narrow. Nothing may stick out. */
async function shoot(page: Page, name: string, hasMenu = true): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const path = join(SHOTS, `${name}-${colorScheme}-${width}.png`);
      await page.screenshot({ path, animations: 'disabled' });
    }
    if (hasMenu) expect(await tooWide(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function waiting(): Promise<{ readonly session: string; readonly review: string }> {
  const { id } = await stage.client.startSession({ agent: 'builder', input: 'Build it.' });
  let review: string | undefined;
  await expect
    .poll(
      async () => {
        review = (await stage.client.reviews({ session: id })).items[0]?.review;
        return review;
      },
      { timeout: 30_000 },
    )
    .toBeDefined();
  await expect
    .poll(async () => (await stage.runtime.store.info(id))?.owner, { timeout: 30_000 })
    .toBeUndefined();
  return { session: id, review: review ?? '' };
}

it(
  'a review shows the files that an approval covers and why it may not cover all, spelled out',
  LONG,
  async () => {
    const { review } = await waiting();
    const { page } = await browsing.open(stage.at(`/reviews/${review}`));
    const article = page.getByRole('article');
    await article.getByText('Files that an approval covers').waitFor();
    const text = await article.innerText();
    expect(text).toMatch(/build\\u\{202E\}hs\.sh sha256:[0-9a-f]{12}\b/);
    expect(text).toMatch(/This command may run other files that this approval does not cover: .*make/);
    expect(text).toMatch(/Contains \d+ invisible or direction-changing characters/);
    expect(text).not.toContain('\u202E');
    await shoot(page, 'review-files');
  },
);

it('lists and pages show that something is quarantined and why, and a button releases it', LONG, async () => {
  const { session } = await waiting();
  const { id: run } = await stage.client.startRun({ agent: 'builder', workflow: 'held' });
  await expect.poll(async () => (await stage.client.run(run)).status, { timeout: 30_000 }).toBe('waiting');
  await expect
    .poll(async () => (await stage.runtime.store.info(run))?.owner, { timeout: 30_000 })
    .toBeUndefined();
  for (const stream of [session, run]) await quarantine(stage.runtime.store, stream, WHY, Date.now());

  const { page } = await browsing.open(stage.at('/sessions'));
  const row = page.getByRole('listitem').filter({ hasText: SHOWN_WHY });
  await row.getByText('Quarantined').waitFor();
  await page.getByRole('button', { name: 'Quarantined' }).click();
  await expect.poll(() => page.getByRole('list', { name: 'Sessions' }).getByRole('listitem').count()).toBe(1);
  await shoot(page, 'quarantined-sessions');

  await page.goto(stage.at('/workflows'));
  await page.getByText(SHOWN_WHY).first().waitFor();

  await page.goto(stage.at('/activity'));
  await page.getByRole('tab', { name: 'Workers' }).click();
  const section = page.getByRole('region', { name: 'Quarantined' });
  await expect.poll(() => section.getByRole('listitem').count()).toBe(2);
  expect(await section.innerText()).toContain(SHOWN_WHY);
  await shoot(page, 'workers');

  await page.goto(stage.at(`/runs/${run}`));
  await page.getByText('This run is quarantined.').waitFor();
  await shoot(page, 'quarantined-run');
  await page.getByRole('button', { name: `Resume ${run}` }).click();
  await page.getByText('This run is quarantined.').waitFor({ state: 'detached' });
  expect(await stage.client.run(run)).not.toHaveProperty('quarantine');

  await page.goto(stage.at(`/sessions/${session}`));
  await page.getByText('This session is quarantined.').waitFor();
  expect(await page.getByRole('main').innerText()).toContain(SHOWN_WHY);
  await shoot(page, 'quarantined-session');
  await page.getByRole('button', { name: `Resume ${session}` }).click();
  await page.getByText('This session is quarantined.').waitFor({ state: 'detached' });
});

it(
  'the dialog of a changed workflow shows each step, asks about those in doubt, and goes on with the answer',
  LONG,
  async () => {
    const scene = new Scene(steps(step('pick'), step('charge'), step('ship')));
    await scene.stopAt('charge');
    await scene.with(({ store }) => quarantine(store, 'run_pay', WHY, Date.now()));
    scene.write(steps(step('pick'), step('bill', 'charge'), step('ship')));
    const changed = await openStage({ files: FILES, store: join(scene.folder, 'runs.db') });
    try {
      const { page, forgive } = await browsing.open(changed.at('/runs/run_pay'));
      forgive(/409/);
      await page.getByText('No graph: the agent is not loaded here.').waitFor();
      await page.getByRole('button', { name: 'Resume run_pay' }).click();
      await page.getByRole('button', { name: 'Show the changes' }).click();
      const dialog = page.getByRole('dialog', { name: 'The workflow has changed' });
      await dialog.getByText('charge').first().waitFor();
      await shoot(page, 'changes');
      const accept = dialog.getByRole('button', { name: 'Accept and resume' });
      expect(await accept.getAttribute('title')).toBe('Decide about charge first.');
      await dialog.getByRole('radio', { name: 'Count it as done' }).check();
      await accept.click();
      await dialog.waitFor({ state: 'hidden' });
      await expect
        .poll(async () => (await changed.client.run('run_pay')).status, { timeout: 30_000 })
        .toBe('completed');
      expect(scene.effects()).toEqual(['pick', 'charge', 'ship']);
    } finally {
      await changed.close();
    }
  },
);

it('what a model wrote is shown as Markdown, with colored code and links that are safe', LONG, async () => {
  const { id } = await stage.client.startSession({ agent: 'writer', input: 'Report.' });
  const { page } = await browsing.open(stage.at(`/sessions/${id}`));
  const conversation = page.getByRole('log', { name: 'Conversation' });
  await conversation.getByRole('heading', { name: 'Report' }).waitFor();
  const text = await conversation.innerText();
  expect(text).toContain('I look first, and then I write.');
  expect(text).toContain('These lines are broken where the model liked, with <b>markup</b>.');
  const links = conversation.getByRole('listitem').getByRole('link');
  expect(await links.allInnerTexts()).toEqual(['docs']);
  expect(await links.getAttribute('rel')).toContain('noopener');
  expect(await conversation.locator('img, b').count()).toBe(0);
  const code = conversation.getByRole('region', { name: 'Code in ts' });
  await code.locator('.text-stall').getByText('const', { exact: true }).waitFor();
  expect(await code.innerText()).toContain('const answer = 42;');
});

it('the workers of a fleet are shown with their load and what waits', LONG, async () => {
  const { page } = await browsing.open('about:blank');
  const worker = {
    host: 'ant',
    role: 'worker',
    version: '1.0.0',
    capacity: 8,
    holds: 5,
    startedAt: Date.now(),
  };
  const workers = [
    { ...worker, pid: 11, working: 3, quietMs: 5, alive: true, url: 'http://127.0.0.1:7420' },
    { ...worker, pid: 12, working: 0, quietMs: 5, alive: true, draining: true },
    { ...worker, pid: 13, working: 0, quietMs: 90_000, alive: false },
  ];
  // `GET /fleet` itself is tested where there is a fleet: cli/quarantine.test.ts.
  await page.route('**/fleet', (route) =>
    route.fulfill({
      json: {
        fleet: 'blue',
        workers,
        laidAside: [],
        queue: { waiting: 4, taken: 1, laidAside: 0, lagMs: 12_000 },
      },
    }),
  );
  await page.route('**/whoami', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), store: 'postgres://db/agents' } });
  });
  await page.goto(stage.at('/activity'));
  await page.getByRole('tab', { name: 'Workers' }).click();
  const section = page.getByRole('region', { name: 'Workers' });
  await section.getByText('ant/11').waitFor();
  const text = await section.innerText();
  expect(text).toMatch(
    /Fleet blue: 2 workers alive, working on 3 of up to 16 sessions and runs\. 4 waiting for a worker, the oldest for 12\S* s\./,
  );
  for (const state of ['Alive', 'Draining', 'Dead', 'working on 3 of up to 8, 5 assigned'])
    expect(text).toContain(state);
  await shoot(page, 'fleet');
});

it(
  'an escalation shows what the agent and the check say, on its page and on that of the session',
  LONG,
  async () => {
    const { id } = await stage.client.startSession({ agent: 'disputed', input: 'Fix the tests.' });
    const { page } = await browsing.open(stage.at(`/sessions/${id}`));
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText('I fixed the two failing tests and ran them again, they pass.').waitFor();
    const again = waiting.getByRole('button', { name: 'Try again' });
    expect(await again.getAttribute('title')).toBe('Write your instructions first.');
    await shoot(page, 'escalation-session');
    await page.getByRole('link', { name: 'All about this review' }).click();
    const article = page.getByRole('article');
    await article.getByText('The verifier (command node) says retry:').waitFor();
    const text = await article.innerText();
    expect(text).toMatch(
      /The agent's notes:\s+I fixed .*2 tests failed.*Accept the step\s+The step counts as done/s,
    );
    expect(text).not.toContain('pass: it is done');
    await shoot(page, 'escalation');
    await article.getByRole('button', { name: 'Accept the step' }).click();
    await article.getByRole('status').getByText('Answered "pass" by ana').waitFor();
  },
);

it('a token is created with a name that fits, shown once, and revoked', LONG, async () => {
  const { page } = await browsing.open(stage.at('/activity'));
  await page.getByRole('tab', { name: 'Tokens' }).click();
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('two words');
  await dialog.getByText('Use at most 64 letters').waitFor();
  await shoot(page, 'token-new');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('ci');
  await dialog.getByRole('button', { name: 'Create the token' }).click();
  await dialog.getByText(/^tt_/).waitFor();
  // Nothing but the button closes it: the token is not shown again.
  await page.keyboard.press('Escape');
  await shoot(page, 'token-created');
  await dialog.getByRole('button', { name: 'I saved the token' }).click();
  await page.getByRole('button', { name: 'Revoke ci' }).click();
  await shoot(page, 'token-revoke');
  await dialog.getByRole('button', { name: 'Revoke the token' }).click();
  await page.getByText('No tokens yet.').waitFor();
  expect((await stage.client.tokens()).items).toEqual([]);
});

it('the login page says what to do, also with a token that is refused', LONG, async () => {
  const { page, forgive } = await browsing.open(stage.without('/sessions'));
  forgive(/401/);
  const field = page.getByRole('textbox', { name: 'Token' });
  await field.waitFor();
  await shoot(page, 'login', false);
  await field.fill('tt_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The token is not valid here.').waitFor();
  await shoot(page, 'login-refused', false);
});
