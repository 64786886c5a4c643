import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { agent, call, openGate, TOOLS } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { useBrowser } from './use-browser.ts';

const LONG = { timeout: 120_000 };
const ANSWER = `Paid from the second account${', as you said'.repeat(12)}.`;

/** A desk that hands every conversation to an agent which is held up by a gate, and then asks before it pays. */
const desk = agent(
  'desk',
  {
    turns: [
      '<action type="internal">{"name": "handoff", "parameters": {"to": "payer", "reason": "Money is due."}}</action><response final="true">One moment.</response>',
    ],
  },
  'handoff: [payer]\n',
);
const payer = agent('payer', {
  tokens_per_second: 25,
  turns: [
    `<response final="false">I look into it.</response>${call('g', 'gate', { name: 'pay' })}`,
    call('d', 'deploy', { to: 'the bank' }),
    `<response final="true">${ANSWER}</response>`,
  ],
});
const FILES: Readonly<Record<string, string>> = {
  ...TOOLS,
  ...desk,
  ...payer,
  'desk.agent.yml': (desk['desk.agent.yml'] ?? '').replace(
    'import: {',
    'import: { agents: [./payer.agent.yml],',
  ),
};

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: FILES });
});
afterAll(async () => {
  const errors = [...(stage?.errors ?? [])];
  await stage?.close();
  expect(errors).toEqual([]);
});

describe('the page of a conversation that moved to another agent', () => {
  it(
    'is one thread that says who speaks, takes messages for the speaker, and answers its questions',
    LONG,
    async () => {
      const { id } = await stage.client.startSession({ agent: 'desk', input: 'Pay the invoice.' });
      const { page } = await browsing.open(stage.at(`/sessions/${id}`));
      const conversation = page.getByRole('log', { name: 'Conversation' });
      await conversation.getByText('One moment.').waitFor();
      await conversation.getByText('Desk handed the conversation to payer: Money is due.').waitFor();
      await conversation.getByText('I look into it.').waitFor();
      await conversation.getByText('by payer').first().waitFor();

      await page.getByRole('textbox', { name: 'Steer the agent' }).fill('Use the second account.');
      await page.getByRole('button', { name: 'Steer', exact: true }).click();
      await conversation.getByText('Use the second account.').waitFor();
      openGate(stage.folder, 'pay');

      const waiting = page.getByRole('region', { name: 'Waiting for you' });
      await waiting.getByText('May payer call the tool deploy?').waitFor();
      await waiting.getByRole('button', { name: 'Approve' }).click();
      await conversation.getByText('Answering by payer').waitFor();
      await conversation.getByText(ANSWER).waitFor();
      await page
        .getByRole('definition')
        .filter({ hasText: /^completed$/i })
        .waitFor();

      const heard = (await stage.runtime.events(`${id}.speaker.payer`)).flatMap((event) =>
        event.type === 'message.received' ? [event.text] : [],
      );
      expect(heard).toEqual(['Use the second account.']);
      expect(await conversation.getByText(ANSWER).count()).toBe(1);
    },
  );
});
