import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call, TOOLS } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { tooWide } from './too-wide.ts';
import { useBrowser } from './use-browser.ts';

/** Where a person looks at the pages; below what git ignores. */
const SHOTS = fileURLToPath(new URL('../../../.cache/screenshots', import.meta.url));
const LONG = { timeout: 120_000 };

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined)
    stage = await openStage({
      files: {
        ...TOOLS,
        ...agent(
          'looker',
          {
            turns: [
              call('look', 'echo', { at: 'the <b>shore</b>' }),
              '<response final="true">Seen.</response>',
            ],
          },
          'instructions: Look first.\n',
        ),
      },
    });
});
afterAll(async () => {
  await stage?.close();
});

it(
  'a session shows what its model was asked in each turn, and whether that is what was sent',
  LONG,
  async () => {
    const { id } = await stage.client.startSession({ agent: 'looker', input: 'Look around.' });
    await expect.poll(async () => (await stage.client.session(id)).status).toBe('completed');
    const { page } = await browsing.open(stage.at(`/sessions/${id}`));
    await page.getByRole('tab', { name: 'Prompt' }).click();
    const panel = page.getByRole('tabpanel').filter({ has: page.getByRole('combobox', { name: 'Turn' }) });
    await panel.getByText('This is what was sent').waitFor();
    const turn = panel.getByRole('combobox', { name: 'Turn' });
    expect(await turn.inputValue()).toBe('2');

    await panel.getByText('not known (the provider builds it)').waitFor();

    // Tokens by part, as the server counts them.
    const prompt = await stage.client.sessionPrompt(id, 2);
    const rows = await panel.getByRole('table', { name: 'Tokens by part' }).getByRole('row').allInnerTexts();
    const cells = rows.map((row) => row.split('\t').map((cell) => cell.trim()));
    const figure = (count: number) => count.toLocaleString('en');
    expect(cells.at(-1)).toEqual(['Total', figure(prompt.tokens.total)]);
    for (const { name, tokens } of prompt.system)
      expect(cells).toContainEqual(['System', name, figure(tokens)]);
    expect(cells).toContainEqual(['Messages', 'turn 2 new', figure(prompt.tokens.new)]);

    // What is new is open; the rest is opened by hand, as text whatever stands in it.
    const messages = panel.getByRole('region', { name: 'Messages' });
    const titles = await messages.getByRole('button').allInnerTexts();
    expect(titles.map((title) => title.replace(/\s+/g, ' ').replace(/ \d+ tokens/, ''))).toEqual([
      'user, turn 1',
      'assistant, turn 2 new',
      'user, turn 2 new',
    ]);
    await messages.getByText('the <b>shore</b>').first().waitFor();
    expect(await messages.getByText('Look around.').count()).toBe(0);
    await messages.getByRole('button', { name: /^user, turn 1/ }).click();
    await messages.getByText('Look around.').waitFor();
    await panel.getByRole('button', { name: /^instructions/ }).click();
    await panel.getByText('Look first.').waitFor();

    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run('[role=tabpanel]', {
        resultTypes: ['violations'],
      }),
    );
    expect(
      violations.map(({ id: rule, nodes }) => `${rule}: ${nodes.map(({ html }) => html).join()}`),
    ).toEqual([]);
    mkdirSync(SHOTS, { recursive: true });
    for (const [width, height] of [
      [1440, 900],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const path = join(SHOTS, `session-prompt-${colorScheme}-${width}.png`);
        await page.screenshot({ path, animations: 'disabled' });
      }
      expect(await tooWide(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });

    // The layout follows the width of the window a moment later, and the tab begins anew then.
    await expect
      .poll(async () => {
        await turn.selectOption('1');
        return messages.getByRole('button').count();
      })
      .toBe(1);
    await panel.getByText('This is what was sent').waitFor();
    await messages.getByText('Look around.').waitFor();

    // With another manifest it is not what was sent, and says so.
    const file = join(stage.folder, 'looker.agent.yml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('Look first.', 'Leap first.'));
    await stage.client.reloadAgents();
    await page.reload();
    await page.getByRole('tab', { name: 'Prompt' }).click();
    await panel
      .getByRole('status')
      .getByText(
        /^This is not what was sent\. The system prompt differs: the manifest .* has changed since\.$/,
      )
      .waitFor();
  },
);

it('a session whose model has not been asked says so', LONG, async () => {
  const { id } = await stage.client.startSession({ agent: 'looker', input: 'Look around.' });
  await expect.poll(async () => (await stage.client.session(id)).status).toBe('completed');
  const { page } = await browsing.open(stage.at(`/sessions/${id}`));
  await page.getByRole('slider').first().focus();
  await page.keyboard.press('Home');
  await page.getByRole('tab', { name: 'Prompt' }).click();
  await page.getByText('The model has not been asked yet.').waitFor();
});
