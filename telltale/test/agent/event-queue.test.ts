import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEventQueue } from '../../src/agent/event-queue.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { ObservedEvent } from '../../src/log/event.ts';
import { openStore } from '../../src/store/open-store.ts';
import { moreRuns } from '../more-runs.ts';

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

  it('reach one that falls behind by more than is kept for it from the log, each once and in order', async () => {
    const { queue, attach, durable, live, end } = await stage();
    const reader = queue[Symbol.asyncIterator]();
    attach();
    await durable('1');
    expect((await reader.next()).value).toMatchObject({ seq: 1 });
    for (let seq = 2; seq <= 5_000; seq++) {
      if (seq % 1_000 === 0) live(`before ${seq}`);
      await durable(`${seq}`);
    }
    live('last');
    end();
    const texts = await textsOf(reader);
    const numbers = texts.map(Number).filter((each) => !Number.isNaN(each));
    expect(numbers).toEqual(Array.from({ length: 4_999 }, (_, index) => index + 2));
    expect(texts.at(-1)).toBe('last');
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('reach one that falls behind before what is live and came after them', async () => {
    const { queue, attach, durable, live, end } = await stage();
    const reader = queue[Symbol.asyncIterator]();
    attach();
    await durable('one');
    expect((await reader.next()).value).toMatchObject({ seq: 1 });
    await durable('two');
    for (let at = 0; at < 5_000; at++) live('a');
    await durable('three');
    live('b');
    end();
    const texts = await textsOf(reader);
    expect(texts.slice(0, 2)).toEqual(['two', 'three']);
    expect(texts.at(-1)).toBe('b');
  });

  it('reach a reader whatever its pace: durable ones without a gap, live ones in their order and never twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('durable', 'live', 'read', 'attach'), { maxLength: 40 }),
        async (moves) => {
          const { queue, attach, durable, live, end } = await stage();
          const reader = queue[Symbol.asyncIterator]();
          const texts: string[] = [];
          const reading: Promise<unknown>[] = [];
          let isAttached = false;
          let count = 0;
          let lives = 0;
          const takeOne = () =>
            reader.next().then((next) => {
              if (next.done !== true && 'text' in next.value) texts.push(next.value.text);
            });
          for (const move of moves) {
            if (move === 'attach' && !isAttached) {
              attach();
              isAttached = true;
            } else if (move === 'durable') await durable(`d${++count}`);
            else if (move === 'live') live(`l${++lives}`);
            else if (move === 'read') reading.push(takeOne());
          }
          if (!isAttached) attach();
          end();
          await Promise.all(reading);
          texts.push(...(await textsOf(reader)));
          expect(texts.filter((text) => text.startsWith('d'))).toEqual(
            Array.from({ length: count }, (_, index) => `d${index + 1}`),
          );
          const heard = texts.filter((text) => text.startsWith('l')).map((text) => Number(text.slice(1)));
          expect(heard).toEqual([...new Set(heard)].toSorted((a, b) => a - b));
        },
      ),
      { numRuns: moreRuns(60) },
    );
  });

  it('reach one that waits for the next as soon as there is one, durable or live', async () => {
    const { queue, attach, durable, live } = await stage();
    const reader = queue[Symbol.asyncIterator]();
    attach();
    for (const text of ['one', 'two', 'three']) {
      const next = reader.next();
      await new Promise(setImmediate);
      if (text === 'two') live(text);
      else await durable(text);
      expect((await next).value).toMatchObject({ text });
    }
    await reader.return?.();
  });

  it('end for who waits for the next when the session has ended, or when they leave', async () => {
    const ended = await stage();
    const reader = ended.queue[Symbol.asyncIterator]();
    ended.attach();
    const next = reader.next();
    await new Promise(setImmediate);
    ended.end();
    expect(await next).toEqual({ done: true, value: undefined });
    const left = await stage();
    const leaving = left.queue[Symbol.asyncIterator]();
    left.attach();
    const waits = leaving.next();
    await new Promise(setImmediate);
    await leaving.return?.();
    expect(await waits).toMatchObject({ done: true });
    expect(left.watched()).toBe(false);
  });
});
