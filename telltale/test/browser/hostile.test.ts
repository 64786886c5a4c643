import { afterAll, beforeAll, expect, it } from 'vitest';
import { tool } from '../agent/run-agent.ts';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { tooWide } from './too-wide.ts';
import { useBrowser } from './use-browser.ts';

/** Each would set `window.__pwned` if any of it were read as markup, or as an address. */
const EVIL = [
  '<script>window.__pwned = 1</script>',
  '<img src=x onerror="window.__pwned = 2">',
  '<svg onload="window.__pwned = 3"></svg>',
  '"><iframe srcdoc="<script>parent.__pwned = 4</script>"></iframe>',
  '[click](javascript:window.__pwned=5) javascript:window.__pwned=6',
  '<style>*{display:none}</style><base href="https://evil.example/">',
  '\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007',
  '\u202Egnp.exe\u202C \u2066isolated\u2069 a\u0000b \uFEFF',
].join(' ');
const HUGE = 'x'.repeat(200_000);
const LINES = Array.from({ length: 10_000 }, (_, line) => `line ${line} ${line === 5 ? EVIL : ''}`).join(
  '\n',
);
const yaml = (text: string): string => JSON.stringify(text.replaceAll('\u0000', ''));

const FILES = {
  ...agent(
    'victim',
    {
      turns: [
        `<metadata>${JSON.stringify({ status: 'CODING', note: EVIL })}</metadata>
<thought>${EVIL}</thought>
${call('evil', 'evil', { text: EVIL })}
${call('huge', 'huge')}
${call('lines', 'lines')}
${call('broken', 'broken')}
${call('ask', 'ask', { [EVIL.slice(0, 30)]: EVIL })}
<response final="false">${EVIL}</response>`,
        `<response>${EVIL}</response>`,
        `<response>${EVIL}</response>`, // once it is told that it was refused
      ],
    },
    `description: ${yaml(EVIL)}\n`,
  ),
  'victim.evil.flow.yml': `kind: Workflow
name: evil_flow
description: ${yaml(EVIL)}
triggers: [{ type: manual }, { type: metadata_match, conditions: { status: CODING } }]
steps:
  - { name: say, type: script, script: ${yaml(`({ said: ${JSON.stringify(EVIL.replaceAll('\u0000', ''))} })`)} }
  - { name: sure, type: approval, prompt: ${yaml(EVIL)}, options: [go, ${yaml(EVIL.slice(0, 60))}] }
`,
  ...tool('evil', `return { html: ${JSON.stringify(EVIL)}, ${JSON.stringify(EVIL)}: 1 };`),
  ...tool('huge', `return 'x'.repeat(${HUGE.length});`),
  ...tool('lines', `return ${JSON.stringify(LINES)};`),
  ...tool('broken', `throw new Error(${JSON.stringify(EVIL)});`),
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

it('nothing that a model, a tool, a manifest or a person wrote is executed on any page, and pages stay usable', {
  timeout: 120_000,
}, async () => {
  const { id } = await stage.client.startSession({ agent: 'victim', input: EVIL.replaceAll('\u0000', '') });
  await stage.client.steer(id, EVIL.replaceAll('\u0000', ''));
  const ask = async () => (await stage.client.reviews()).items;
  await expect.poll(async () => (await ask()).map(({ kind }) => kind)).toHaveLength(2);
  const reviews = await ask();
  const [run] = (await stage.client.runs({ session: id })).items;
  const { page, forgive } = await browsing.open(stage.at('/sessions'), {
    viewport: { width: 1440, height: 2400 },
  });
  forgive(/status of 400/); // of the addresses that are none
  const unharmed = async (where: string) => {
    expect(await page.evaluate('window.__pwned'), where).toBeUndefined();
    const made = page.locator(
      '#root :is(script, iframe, base, [onerror], [onload], a[href^="javascript:" i])',
    );
    expect(await made.count(), where).toBe(0);
    expect(await tooWide(page), where).toEqual([]);
    await page.getByRole('heading', { level: 1 }).waitFor();
  };
  await page.getByRole('list', { name: 'Sessions' }).getByText('window.__pwned = 1').waitFor();
  await unharmed('sessions');

  await page.goto(stage.at(`/sessions/${id}`));
  const conversation = page.getByRole('log', { name: 'Conversation' });
  for (const action of ['evil', 'huge', 'lines', 'broken']) {
    const button = conversation.getByRole('button', { name: new RegExp(`^\\w+: ${action} ${action}`) });
    await button.click();
    const more = conversation.getByRole('button', { name: /more characters/ }).first();
    if (await more.isVisible()) await more.click();
    await unharmed(`action ${action}`);
    await button.click();
  }
  await page.getByRole('tab', { name: 'Prompt' }).click();
  await page.getByText('This is what was sent').waitFor();
  await unharmed('prompt');
  for (const tab of [/^State/, /^Variables/, /^Feeds/, /^Workflows/, /^Events/]) {
    await page.getByRole('tab', { name: tab }).click();
    await unharmed(`tab ${tab}`);
  }
  const last = Number(await page.getByRole('slider', { name: 'Event' }).getAttribute('max'));
  const next = page.getByRole('button', { name: 'Next event', exact: true });
  await page.getByRole('list', { name: 'Events' }).getByRole('button').first().click();
  for (let seq = 1; seq < last; seq++) await next.click();
  await page.getByRole('heading', { name: `Event ${last}` }).waitFor();
  await unharmed('events');

  for (const { review } of reviews) {
    await page.goto(stage.at(`/reviews/${review}`));
    await page.getByRole('article').getByText('window.__pwned = 1').first().waitFor();
    await unharmed('review');
  }
  for (const path of [
    '/agents',
    '/agents/victim',
    '/start/victim',
    '/workflows',
    '/workflows/victim/evil_flow',
    `/runs/${run?.id}`,
    '/artifacts',
    '/memory',
    '/activity',
    `/sessions/${encodeURIComponent('<img src=x onerror=window.__pwned=7>')}`,
    `/agents/${encodeURIComponent('<script>window.__pwned=8</script>')}`,
  ]) {
    await page.goto(stage.at(path));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('status', { name: /^(Reading|Fetching)/ }).count()).toBe(0);
    await unharmed(path);
  }
  // It can still be steered, answered and left.
  for (const { review, options } of reviews)
    await stage.client.answerReview(
      review,
      options === undefined ? { answer: 'rejected', note: EVIL.replaceAll('\u0000', '') } : { choice: 'go' },
    );
  await page.goto(stage.at(`/sessions/${id}`));
  await page
    .getByRole('definition')
    .filter({ hasText: /^Completed$/ })
    .waitFor();
  await unharmed('the end');
});
