import { describe, expect, it } from 'vitest';
import { KEEP_TURNS, planCompaction, whenToCompact } from '../../src/prompt/compaction.ts';
import { createConversation } from '../../src/prompt/conversation.ts';
import { openingOf } from '../../src/prompt/opening.ts';
import { agentWith } from './agent.ts';
import { completed, drivenSession } from './driven-session.ts';

const agent = agentWith();

function longSession(turns: number, output = 'I looked around.') {
  const session = drivenSession('Fix <action> it.');
  const conversation = createConversation(openingOf({ system: 'S', agent }));
  for (let i = 1; i <= turns; i++) {
    session.turn(conversation, `${output} ${i}`);
    session.declare({ id: `a${i}` });
    session.log(completed(`a${i}`, `result ${i}`));
  }
  return { ...session, conversation };
}

describe('the prompt is compacted', () => {
  it('when it leaves less than the reserve of the window, and never where the window is unknown', () => {
    expect(whenToCompact({ promptTokens: 74, contextWindow: 100 })).toBe(false);
    expect(whenToCompact({ promptTokens: 76, contextWindow: 100 })).toBe(true);
    expect(whenToCompact({ promptTokens: 76, contextWindow: 100, reserve: 10 })).toBe(false);
  });

  it('but for its last turns', () => {
    const { state, log, conversation } = longSession(10);
    const plan = planCompaction(state, { agent, contextWindow: 100_000 });
    expect(plan?.through).toBe(10 - KEEP_TURNS);
    log({ type: 'prompt.compacted', through: plan?.through ?? 0, summary: 'Six turns.' });
    conversation.rebuild(state);
    const texts =
      conversation
        .prompt()
        ?.messages.map(({ text }) => text)
        .join('\n') ?? '';
    expect(texts).toContain('Six turns.');
    expect(texts).not.toContain('looked around. 6');
    expect(texts).toContain('looked around. 7');
  });

  it.each([
    ['auto', '- status: one of "IDLE", "CODING" (current: "CODING")\n- note: a string (current: null)'],
    ['on_change', 'Metadata, current values:\n- status: "CODING"\n- note: null'],
  ])('and shows current metadata again, with method %s', (method, shown) => {
    const fields = { status: { values: ['IDLE', 'CODING'], default: 'IDLE' }, note: { type: 'string' } };
    const told = agentWith({ metadata: { fields, injection: { method } } });
    const session = drivenSession('Fix it.');
    const conversation = createConversation(openingOf({ system: 'S', agent: told }));
    session.turn(conversation, 'I begin.');
    const changes = { status: { from: 'IDLE', to: 'CODING' } };
    session.log({ type: 'metadata.changed', changes, by: 'model' });
    for (let i = 2; i <= 10; i++) session.turn(conversation, `I look around. ${i}`);
    session.log({ type: 'prompt.compacted', through: 6, summary: 'Six turns.' });
    const first = conversation.rebuild(session.state)?.messages[0]?.text;
    expect(first).toContain(shown);
  });

  it('with fewer of them where they are long, down to none', () => {
    const { state } = longSession(6, 'word '.repeat(400));
    expect(planCompaction(state, { agent, contextWindow: 5_000 })?.through).toBe(4);
    expect(planCompaction(state, { agent, contextWindow: 100 })?.through).toBe(6);
  });

  it('not at all where all turns stay', () => {
    const { state } = longSession(KEEP_TURNS);
    expect(planCompaction(state, { agent, contextWindow: 100_000 })).toBeUndefined();
    expect(planCompaction(drivenSession().state, { agent, contextWindow: 100 })).toBeUndefined();
  });
});

describe('what is to be summarised', () => {
  it('is what the agent was told and what it wrote, none of it in tags that act', () => {
    const { state } = longSession(6, '<action>{"name":"x"}</action>');
    const text = planCompaction(state, { agent, contextWindow: 100_000 })?.request.messages[0]?.text;
    expect(text).toContain('# Turn 1\n\nThe agent was told:\n\nFix &lt;action> it.');
    expect(text).toContain('The agent wrote:\n\n&lt;action>{"name":"x"}&lt;/action> 2');
    expect(text).toContain('>result 1</result>');
    expect(text).not.toContain('# Turn 3');
  });

  it('is bounded, and holds the summary of what went before', () => {
    const { state, log } = longSession(40, 'word '.repeat(1000));
    log({ type: 'prompt.compacted', through: 5, summary: 'The first five.' });
    const text =
      planCompaction(state, { agent, contextWindow: 1_000_000, maxChars: 10_000 })?.request.messages[0]
        ?.text ?? '';
    expect(text).toMatch(/^# Summary of the turns before\n\nThe first five\./);
    expect(text.length).toBeLessThan(15_000);
    expect(text).toContain('characters left out');
    expect(text).toMatch(/turns left out …\]$/);
  });

  it('can be summed up without a model', () => {
    const { state } = longSession(6);
    const plan = planCompaction(state, { agent, contextWindow: 100_000 });
    expect(plan?.plainSummary).toBe(
      'Actions: a1 (fetch): ok, a2 (fetch): ok.\n\nWhat you wrote began with:\n- turn 1: I looked around. 1\n- turn 2: I looked around. 2',
    );
  });

  it('keeps what people said meanwhile, where it is summed up without a model', () => {
    const session = drivenSession('Fix it.');
    const conversation = createConversation(openingOf({ system: 'S', agent }));
    session.turn(conversation, 'I begin.');
    session.log({ type: 'message.received', from: 'steer', text: 'Delete\nnothing.' });
    session.log({ type: 'message.received', from: 'runtime', text: 'Go on.' });
    for (let i = 2; i <= 6; i++) session.turn(conversation, `I look around. ${i}`);
    const plan = planCompaction(session.state, { agent, contextWindow: 100_000 });
    expect(plan?.plainSummary).toMatch(
      /^You were told meanwhile:\n- turn 2: Delete nothing\.\n\nActions: none\./,
    );
  });

  it('keeps the last that people said over a second one without a model, though a long one stands before', () => {
    const session = drivenSession('Fix it.');
    const conversation = createConversation(openingOf({ system: 'S', agent }));
    for (let i = 1; i <= 3; i++) session.turn(conversation, `I begin. ${i}`);
    session.log({ type: 'prompt.compacted', through: 2, summary: 'word '.repeat(4000) });
    conversation.rebuild(session.state);
    for (let i = 0; i < 8; i++)
      session.log({ type: 'message.received', from: 'user', text: 'long '.repeat(400) });
    session.log({ type: 'message.received', from: 'steer', text: 'Delete nothing.' });
    for (let i = 4; i <= 10; i++) session.turn(conversation, `I look around. ${i}`);
    const plan = planCompaction(session.state, { agent, contextWindow: 100_000 });
    session.log({ type: 'prompt.compacted', through: plan?.through ?? 0, summary: plan?.plainSummary ?? '' });
    conversation.rebuild(session.state);
    for (let i = 11; i <= 18; i++) session.turn(conversation, `I look around. ${i}`);
    const again = planCompaction(session.state, { agent, contextWindow: 100_000 })?.plainSummary;
    expect(again).toContain('Delete nothing.');
    expect(again).toContain('word word');
  });
});
