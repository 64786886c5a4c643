import { describe, expect, it } from 'vitest';
import { encodeEvent } from '../../src/events/codec.ts';
import type { ObservedEvent } from '../../src/events/event.ts';
import { createSystemClock } from '../../src/kernel/clock.ts';
import { createEventQueue } from '../../src/session/event-queue.ts';
import { openStore } from '../../src/store/open-store.ts';

const SESSION = 'ses_queue';

/** A session's side of a queue: events that are on the log, and live ones. */
async function stage() {
  const store = await openStore('memory', { cwd: '/', clock: createSystemClock(), durability: 'process' });
  const writer = await store.create(SESSION, { kind: 'session', name: 'x', status: 'running', title: '' });
  const queue = createEventQueue(store, SESSION, Promise.resolve());
  const nobody = () => undefined;
  let listener: (event: ObservedEvent) => void = nobody;
  let seq = 0;
  const attach = () =>
    queue.attach({
      subscribe(each) {
        listener = each;
        return () => {
          listener = nobody;
        };
      },
    });
  const durable = async (text: string) => {
    const head = {
      seq: seq + 1,
      at: 0,
      session: SESSION,
      turn: 1,
      cause: { stream: SESSION, seq, depth: 0 },
    };
    const body = { type: 'text', text } as const;
    await new Promise<void>((resolve) =>
      writer.append({ expectedSeq: seq, events: [encodeEvent(head, body)] }, () => resolve()),
    );
    seq++;
    listener({ ...head, ...body });
  };
  const live = (text: string) => listener({ type: 'response.delta', session: SESSION, turn: 1, text });
  return { queue, attach, durable, live, end: () => queue.end(seq), watched: () => listener !== nobody };
}

async function textsOf(events: AsyncIterator<ObservedEvent>): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let next = await events.next(); next.done !== true; next = await events.next())
    if ('text' in next.value) texts.push(next.value.text);
  return texts;
}

describe('the events of a session', () => {
  it('reach a reader in their order, live ones included, if it was there before the first', async () => {
    const { queue, attach, durable, live, end } = await stage();
    const reader = queue[Symbol.asyncIterator]();
    attach();
    await durable('one');
    live('a');
    await durable('two');
    live('b');
    end();
    expect(await textsOf(reader)).toEqual(['one', 'a', 'two', 'b']);
  });

  it('reach one that comes later from the log, without live ones that the log has left behind', async () => {
    const { queue, attach, durable, live, end } = await stage();
    attach();
    await durable('one');
    const reader = queue[Symbol.asyncIterator]();
    await durable('two');
    live('stale');
    await durable('three');
    live('news');
    end();
    expect(await textsOf(reader)).toEqual(['one', 'two', 'three', 'news']);
  });

  it('are listened to only as long as somebody reads, and one that comes after that misses nothing', async () => {
    const { queue, attach, durable, end, watched } = await stage();
    attach();
    await durable('one');
    for await (const event of queue) {
      expect(event).toMatchObject({ text: 'one' });
      expect(watched()).toBe(true);
      break;
    }
    expect(watched()).toBe(false);
    await durable('two');
    const reader = queue[Symbol.asyncIterator]();
    await durable('three');
    end();
    expect(await textsOf(reader)).toEqual(['one', 'two', 'three']);
  });
});
