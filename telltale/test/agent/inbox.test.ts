import { describe, expect, it } from 'vitest';
import { createChatControl } from '../../src/agent/chat-control.ts';
import { createInbox } from '../../src/agent/inbox.ts';
import { createStop } from '../../src/agent/stop.ts';
import type { Cause, EventBody } from '../../src/log/event.ts';
import type { InboxMessage } from '../../src/store/store.ts';

const OUTSIDE = { stream: 'ses_a', seq: 0, depth: 0 };

/** An inbox over messages that lie there, and what comes of them. */
function stage({ sentBefore = 0, takesOrders = false, decides = true } = {}) {
  const lying: InboxMessage[] = [];
  const appended: {
    readonly body: EventBody;
    readonly cause?: Cause;
    readonly consumed?: readonly number[];
  }[] = [];
  const calls: string[] = [];
  const stop = createStop();
  const chat = createChatControl();
  const exchange = chat.beginExchange(stop);
  let fails = false;
  let wake = () => {};
  const writer = {
    stream: 'ses_a',
    inbox: async () => {
      if (fails) throw new Error('The disk is gone.');
      return lying;
    },
    onWake(then: () => void) {
      wake = then;
      return () => undefined;
    },
  };
  const log = {
    append(body: EventBody, cause?: Cause, beside?: { readonly consumed?: readonly number[] }) {
      appended.push({
        body,
        ...(cause === undefined ? {} : { cause }),
        ...(beside?.consumed === undefined ? {} : { consumed: beside.consumed }),
      });
      return { stream: 'ses_a', seq: appended.length, depth: 1 };
    },
  };
  const reviews = {
    decide: (...[review, , consumed]: [string, unknown, (readonly number[])?]) => {
      calls.push(`decide ${review} ${consumed?.join()}`);
      return decides;
    },
    moved: () => void calls.push('moved'),
  };
  const inbox = createInbox(writer as never, {
    log: log as never,
    stop,
    chat,
    reviews: reviews as never,
    sentBefore,
    takeValues: () => {},
    takeOrder: ({ kind }) => takesOrders && kind === 'order',
  });
  let id = 0;
  const sent = async (kind: string, body: InboxMessage['body'], from = 'user') => {
    lying.push({ id: ++id, kind, from, body } as InboxMessage);
    await inbox.drain();
  };
  return {
    inbox,
    stop,
    chat,
    exchange,
    appended,
    calls,
    sent,
    breakDown: () => {
      fails = true;
      wake();
    },
    bodies: () => appended.map(({ body }) => body),
  };
}

describe('a message in the inbox of a session', () => {
  it('for the agent is on the log as what it is, and is not there any more', async () => {
    const { sent, appended, inbox, chat, calls } = stage();
    await sent('steer', 'Look there.');
    await sent('message', 'And then?');
    expect(appended).toEqual([
      {
        body: { type: 'message.received', from: 'steer', text: 'Look there.' },
        cause: OUTSIDE,
        consumed: [1],
      },
      { body: { type: 'message.received', from: 'user', text: 'And then?' }, cause: OUTSIDE, consumed: [2] },
    ]);
    expect(inbox.lastMessage()).toEqual({ stream: 'ses_a', seq: 2, depth: 1 });
    expect(chat.heard).toBe(2);
    expect(calls).toEqual(['moved', 'moved']);
  });

  it('says whose words they are where they are not the user’s', async () => {
    const { sent, appended } = stage();
    await sent('steer', 'Look there.', 'ann');
    expect(appended[1]).toEqual({
      body: { type: 'audit', who: 'ann', what: 'steer' },
      cause: { stream: 'ses_a', seq: 1, depth: 1 },
    });
  });

  it('is received once, however often the inbox is read', async () => {
    const { sent, inbox, bodies } = stage();
    await sent('steer', 'Look there.');
    await Promise.all([inbox.drain(), inbox.drain()]);
    await inbox.drain();
    expect(bodies()).toHaveLength(1);
  });

  it('wakes who waits for one, once, unless it was forgotten', async () => {
    const { sent, inbox } = stage();
    const woken: string[] = [];
    inbox.onMessage(() => woken.push('first'));
    const forget = inbox.onMessage(() => woken.push('forgotten'));
    forget();
    await sent('cancel', 'no', 'cli');
    expect(woken).toEqual([]);
    await sent('steer', 'a');
    await sent('steer', 'b');
    expect(woken).toEqual(['first']);
  });

  it('for the agent stays where it is once the end is decided; another is still taken', async () => {
    const { sent, inbox, bodies } = stage();
    inbox.hearNoMore();
    await sent('steer', 'Too late.');
    await sent('message', 'Too late.');
    await sent('cancel', 'Enough.', 'cli');
    expect(bodies()).toEqual([{ type: 'audit', who: 'cli', what: 'cancel: Enough.' }]);
  });

  it('that is a run’s is left to whoever takes those', async () => {
    const { sent, bodies } = stage({ takesOrders: true });
    await sent('order', { a: 1 });
    expect(bodies()).toEqual([]);
  });

  it('of no kind that is known is written down, with who and what', async () => {
    const { sent, appended } = stage();
    await sent('nonsense', { a: 1 }, 'ann');
    await sent('nonsense', '', 'ann');
    expect(appended).toEqual([
      { body: { type: 'audit', who: 'ann', what: 'nonsense: {"a":1}' }, cause: OUTSIDE, consumed: [1] },
      { body: { type: 'audit', who: 'ann', what: 'nonsense' }, cause: OUTSIDE, consumed: [2] },
    ]);
  });

  it('that answers a question is consumed with the decision; one that answers none is written down', async () => {
    const answer = { review: 'r1', answer: 'approved' };
    const good = stage();
    await good.sent('review', answer, 'ann');
    expect(good.calls).toEqual(['decide r1 1']);
    expect(good.bodies()).toEqual([]);
    const late = stage({ decides: false });
    await late.sent('review', answer, 'ann');
    expect(late.appended).toMatchObject([{ body: { type: 'audit', who: 'ann' }, consumed: [1] }]);
  });

  it('cancels the session, unless it was sent before that was resumed', async () => {
    const old = stage({ sentBefore: 1 });
    await old.sent('cancel', 'Enough.', 'cli');
    expect(old.stop.reason).toBeUndefined();
    expect(old.bodies()).toHaveLength(1);
    await old.sent('cancel', 'Enough now.', 'cli');
    expect(old.stop.reason).toEqual({ kind: 'cancel', reason: 'Enough now.', by: 'cli' });
  });

  it('leads a chat: it breaks the exchange off, or ends it', async () => {
    const { sent, exchange, chat, stop } = stage();
    await sent('steer', 'a');
    expect([exchange.stop.reason, chat.finished]).toEqual([undefined, false]);
    await sent('break_off', '', 'ann');
    expect(exchange.stop.reason).toMatchObject({ kind: 'cancel' });
    expect([stop.reason, chat.finished]).toEqual([undefined, false]);
    await sent('finish', '', 'ann');
    expect(chat.finished).toBe(true);
  });

  it('is not received any more once the inbox is closed', async () => {
    const { sent, inbox, bodies } = stage();
    inbox.close();
    await sent('steer', 'Too late.');
    expect(bodies()).toEqual([]);
  });

  it('that cannot be read ends the session here: its log is another’s, or lost', async () => {
    const { breakDown, stop } = stage();
    breakDown();
    await expect.poll(() => stop.reason?.kind).toBe('lost');
  });
});
