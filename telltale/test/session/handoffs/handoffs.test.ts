import { describe, expect, it } from 'vitest';
import type { ObservedEvent } from '../../../src/events/event.ts';
import type { Session } from '../../../src/session/runtime-types.ts';
import { runTeam } from '../children/run-team.ts';

const final = (text: string) => `<response final="true">${text}</response>`;
const handoff = (to: string, more: object = {}, id = 'h1') =>
  `<action type="internal" id="${id}">${JSON.stringify({ name: 'handoff', parameters: { to, ...more } })}</action>`;

const seen = (session: Session, is: (event: ObservedEvent) => boolean): Promise<ObservedEvent> =>
  new Promise((resolve) => {
    const forget = session.subscribe((event) => {
      if (!is(event)) return;
      forget();
      resolve(event);
    });
  });
const waits = (session: Session) =>
  seen(session, (event) => event.type === 'session.waiting' && event.for === 'message');

/** Says these, one after the other, each once the session waits; then finishes. */
const saying =
  (...texts: readonly string[]) =>
  async (session: Session) => {
    let idle = waits(session);
    for (const text of texts) {
      await idle;
      idle = waits(session);
      await session.say(text);
    }
    await idle;
    session.finish();
  };

describe('a handoff', () => {
  it('lets another agent answer, in a session of its own that knows the conversation', async () => {
    const ran = await runTeam(
      { billing: { turns: [final('You owe nothing.')] } },
      {
        manifest: 'handoff: [billing]\n',
        turns: [`${handoff('billing', { reason: 'An invoice' })}${final('One moment.')}`],
        start: { input: 'What do I owe?' },
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'You owe nothing.', turns: 1 });
    expect(ran.of('handoff')).toMatchObject([
      {
        from: 'tester',
        to: 'billing',
        session: `${ran.result.session}.speaker.billing`,
        by: 'model',
        reason: 'An invoice',
        carry: 'messages',
      },
    ]);
    expect(ran.of('child.response')).toMatchObject([
      { action: 'speaker:billing', event: { text: 'You owe nothing.', final: true } },
    ]);
    const [started] = ran.childOf('speaker.billing', 'session.started');
    expect(started?.input).toContain('What do I owe?');
    expect(started?.input).toContain('tester: One moment.');
    expect(started?.input).toContain('An invoice');
    expect(ran.childOf('speaker.billing', 'session.completed')).toHaveLength(1);
  });

  it('moves a chat on: messages go to whoever speaks, and an agent that comes back remembers', async () => {
    const ran = await runTeam(
      {
        billing: {
          manifest: 'handoff: [tester]\nimport: { agents: [../agent.yml] }\n',
          turns: [final('It is 3 euros.'), `${handoff('tester')}${final('Back to tester.')}`, final('Paid.')],
        },
      },
      {
        manifest: 'handoff: [billing]\n',
        turns: [handoff('billing'), final('Tester here.'), handoff('billing', { carry: 'none' }, 'h2')],
        start: { chat: true, input: 'What do I owe?' },
        during: saying('And who pays?', 'Is it paid?'),
      },
    );
    expect(ran.of('handoff').map(({ from, to }) => `${from} → ${to}`)).toEqual([
      'tester → billing',
      'billing → tester',
      'tester → billing',
    ]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Paid.' });
    expect(ran.childOf('speaker.billing', 'session.started')).toHaveLength(1);
    expect(ran.childOf('speaker.billing', 'message.received').map(({ text }) => text)).toEqual([
      'And who pays?',
      expect.stringMatching(/^You have the conversation again[\s\S]*The user said last:\nIs it paid\?$/),
    ]);
    expect(ran.prompts[1]).toContain('billing: It is 3 euros.');
    expect(ran.prompts[1]).toContain('billing: Back to tester.');
    expect(ran.of('message.received').map(({ text }) => text)).toEqual(['And who pays?', 'Is it paid?']);
  });
});
