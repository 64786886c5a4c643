import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { useBrowser } from './use-browser.ts';

const BIN = fileURLToPath(new URL('../../bin/telltale.js', import.meta.url));
const STORY_MS = 150_000;

const browsing = useBrowser();

/** `telltale dev` in an empty folder, as a newcomer types it. */
async function devInEmptyFolder(): Promise<{ readonly link: string; readonly folder: string }> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-newcomer-')));
  const child = spawn(process.execPath, [BIN, 'dev', '--port', '0', '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  await expect
    .poll(() => out || (child.exitCode === null ? '' : err), { timeout: 60_000 })
    .toContain('"url"');
  return { link: (JSON.parse(out) as { readonly link: string }).link, folder };
}

it('who has read nothing starts the demo, sees it think and act, steers it, answers its review and learns why a workflow ran', {
  timeout: STORY_MS,
}, async () => {
  const { link, folder } = await devInEmptyFolder();
  const { page, forgive } = await browsing.open(link);
  // At the end the server is gone before the page is.
  forgive(/Failed to load resource/);

  await page.getByRole('button', { name: 'Start release_agent' }).click();
  await page.getByRole('textbox', { name: 'What should the agent do?' }).fill('Release what is there.');
  await page.getByRole('button', { name: 'Start', exact: true }).click();

  const conversation = page.getByRole('log', { name: 'Conversation' });
  const declared = page.getByRole('definition').filter({ hasText: /^[A-Z]{4,}$/ });
  await expect.poll(() => declared.innerText()).toMatch(/READING|CHECKING|WRITING/);
  await conversation.getByText('Thought…').first().waitFor(); // it is shown while it is thought
  await conversation.getByText('I read package.json and the changelog.').waitFor();
  await conversation.getByText('the model speaks…').waitFor();
  await conversation.getByRole('button', { name: /^completed: filesystem manifest/ }).waitFor();
  const waterfall = page.getByRole('listbox', { name: /over time/ });
  await waterfall.getByRole('option', { name: /^filesystem, manifest, completed/ }).waitFor();

  await page.getByRole('textbox', { name: 'Steer the agent' }).fill('Keep the notes short.');
  await page.getByRole('button', { name: 'Steer' }).click();
  await conversation.getByText('Keep the notes short.').waitFor();
  await waterfall.getByRole('option', { name: /keep_changelog/ }).waitFor();

  const review = page.getByRole('region', { name: 'Waiting for you' });
  await review
    .getByText(/publish/)
    .first()
    .waitFor();
  await page.getByRole('link', { name: 'Reviews 1 waiting' }).waitFor();
  expect(await declared.innerText()).toBe('PUBLISHING');
  for (const state of ['READING', 'CHECKING', 'WRITING'])
    await page.getByRole('button', { name: `status: ${state}` }).waitFor();
  await page
    .getByText(/^Starting \d+ actions? before the response ended saved/)
    .first()
    .waitFor();
  await review.getByRole('button', { name: 'Parameters' }).click();
  await review.getByText('release-notes.md').waitFor();
  await review.getByRole('button', { name: 'Approve' }).click();

  await page.getByRole('definition').filter({ hasText: 'Completed' }).waitFor();
  await conversation.getByText(/Version 1\.4\.0 is published/).waitFor();
  await review.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Reviews', exact: true }).waitFor();
  expect(JSON.parse(readFileSync(join(folder, 'telltale-tour/package/published.json'), 'utf8'))).toEqual({
    version: '1.4.0',
    notes: 'release-notes.md',
  });
  expect(readFileSync(join(folder, 'telltale-tour/package/CHANGELOG.md'), 'utf8')).toContain('## 1.4.0');

  await page.getByRole('tab', { name: /^Workflows/ }).click();
  const run = page.getByRole('listitem').filter({ hasText: 'keep_changelog' });
  await run.getByRole('button', { name: 'Why' }).click();
  const why = page.getByRole('region', { name: 'Why this happened' });
  await why
    .getByText(/WRITING/)
    .first()
    .waitFor();
  const steps = (await why.getByRole('listitem').allInnerTexts()).map((step) => step.replaceAll(/\s+/g, ' '));
  // From the run to what the agent declared, and on to the person who started it all.
  expect(steps[0]).toContain('keep_changelog');
  expect(steps[1]).toMatch(/because .*status.*WRITING/);
  expect(steps.at(-2)).toContain('Release what is there.');
  expect(steps.at(-1)).toContain('A person or a program started it all');
});
