import { describe, expect, it } from 'vitest';
import { runTeam, speaking } from '../children/run-team.ts';

const final = (text: string) => `<response final="true">${text}</response>`;
const handoff = (more: object = {}) =>
  `<action type="internal">${JSON.stringify({ name: 'handoff', parameters: { to: 'billing', ...more } })}</action>`;
const BILLING = { billing: { turns: [final('Nothing.')] } };

/** What the next agent is told. */
async function toldWith(
  parameters: object,
  { manifest = '', files = {}, input = 'What do I owe?', entry = 'billing' } = {},
): Promise<string> {
  const ran = await runTeam(BILLING, {
    manifest: `handoff: [${entry}]\n${manifest}`,
    files,
    turns: [`${handoff(parameters)}${final('One moment.')}`],
    start: { input },
  });
  expect(ran.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
  return ran.childOf('speaker.billing', 'session.started')[0]?.input ?? '';
}

describe('what moves along with a handoff', () => {
  it('is who said what, unless something else is asked for', async () => {
    expect(await toldWith({ reason: 'An invoice' })).toBe(
      'You have the conversation: tester handed it to you. Why: An invoice\n\nWhat was said:\nuser: What do I owe?\ntester: One moment.',
    );
  });

  it('is the beginning and the end of a long conversation', async () => {
    const told = await toldWith({}, { input: `First words. ${'x'.repeat(60_000)} Last words.` });
    expect(told.length).toBeLessThan(34_000);
    expect(told).toContain('user: First words.');
    expect(told).toMatch(/… [\d,]+ characters left out …/);
    expect(told).toContain('Last words.\ntester: One moment.');
  });

  it('is the last message and the reason with "none"', async () => {
    expect(await toldWith({ carry: 'none', reason: 'An invoice' })).toBe(
      'You have the conversation: tester handed it to you. Why: An invoice\n\nThe user said last:\nWhat do I owe?',
    );
  });

  it('is what the entry says, unless the action says something else', async () => {
    const entry = '{ to: billing, carry: none }';
    expect(await toldWith({}, { entry })).not.toContain('What was said');
    expect(await toldWith({ carry: 'messages' }, { entry })).toContain('tester: One moment.');
  });

  it('is the summary that the agent wrote', async () => {
    expect(await toldWith({ carry: 'summary', summary: 'Billed twice.' })).toBe(
      'You have the conversation: tester handed it to you.\n\nWhat was said, in short:\nBilled twice.\n\nThe user said last:\nWhat do I owe?',
    );
  });

  it('is a summary by the fast model where the agent wrote none, and by its own model where there is no other', async () => {
    const files = { 'fast.yml': 'turns: ["By the fast one."]\n' };
    const manifest = 'models: { fast: "scripted:./fast.yml" }\n';
    expect(await toldWith({ carry: 'summary' }, { manifest, files })).toContain(
      'in short:\nBy the fast one.',
    );
    const ran = await runTeam(BILLING, {
      manifest: 'handoff: [billing]\n',
      turns: [],
      model: speaking(
        ({ system }) => (system.includes('handoff') ? handoff({ carry: 'summary' }) : 'By itself.'),
        {
          id: 'test:speaking',
          usage: { input: 5, output: 2 },
        },
      ),
    });
    expect(ran.childOf('speaker.billing', 'session.started')[0]?.input).toContain('in short:\nBy itself.');
    expect(ran.of('custom')).toMatchObject([{ name: 'llm.usage', data: { for: 'summary' } }]);
  });

  it('is the conversation itself where the summary cannot be written', async () => {
    const files = { 'fast.yml': 'turns: []\n' };
    const manifest = 'models: { fast: "scripted:./fast.yml" }\n';
    expect(await toldWith({ carry: 'summary' }, { manifest, files })).toContain(
      'user: What do I owe?\ntester: One moment.',
    );
  });
});
