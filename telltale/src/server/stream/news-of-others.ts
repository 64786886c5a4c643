import { decodeLine, type StreamEvent, type StreamRef } from '../../agent/log/read-log.ts';
import { ASKS, askText, HEADLINES, readUpdates, type StreamUpdate } from '../../agent/remote/live-channel.ts';
import type { LiveWire } from '../../store/shared-store.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { HeadlinesDeps } from './stream-source.ts';

/** The most streams that are polled: live ones, and the newest ones, which may have ended already. */
const MAX_ALIVE = 1_000;
const MAX_NEWEST = 200;
/** The most streams that are checked once more after they left that list. */
const MAX_ENDED = 500;
const MAX_KNOWN = 10_000;
/** The most past events that are sent of a stream that is new to the poll. */
const LOOK_BACK = 200;
/** The most events read at a time, and in one round. The rest follows in the next round. */
const PAGE = 500;
const MAX_EVENTS = 5_000;

/**
 * Finds events of streams that other processes own, while there are clients. If several machines share the store, they
 * announce which streams have changed. Everything else is found by polling.
 */
export interface NewsOfOthers {
  /** Resolves once all events from now on will be reported. */
  begun(): Promise<void>;
  /** Records an event of this process, so that it is not reported again. */
  isKnown(stream: string, seq: number): void;
  stop(): void;
}

export function createNewsOfOthers(
  { runtime, clock, limits, turnstile, onError }: HeadlinesDeps,
  tell: (event: StreamEvent) => void,
): NewsOfOthers {
  const { store } = runtime;
  const live = store.shared?.live;
  const pollMs = live === undefined ? limits.pollMs : limits.sharedPollMs;
  let heard: HeardHeadlines | undefined;
  /** The last reported event of each stream, or its head at the start. */
  const known = new Map<string, number>();
  let began: Promise<void> | undefined;
  let beganAt = 0;
  let stopTimer: (() => void) | undefined;
  let isLooking = false;
  /** Whether something was missed that only a poll finds. */
  let isMissed = false;
  /** Counts starts, so that late results of an earlier start are ignored. */
  let round = 0;

  const listed = async (): Promise<ReadonlyMap<string, StreamInfo>> => {
    const alive = await store.list({ status: ['running', 'waiting'], limit: MAX_ALIVE });
    const newest = await store.list({ limit: MAX_NEWEST });
    return new Map([...alive, ...newest].map((info) => [info.stream, info]));
  };

  /** Streams that were alive in the last round. Their final events are still to be reported. */
  const ended = async (alive: ReadonlyMap<string, StreamInfo>): Promise<readonly StreamInfo[]> => {
    const gone = [...known.keys()].filter((stream) => !alive.has(stream) && isElsewhere(stream));
    const found: StreamInfo[] = [];
    for (const stream of gone.slice(0, MAX_ENDED)) {
      const info = await store.info(stream);
      if (info !== undefined) found.push(info);
    }
    return found;
  };

  const isElsewhere = (stream: string) => runtime.session(stream) === undefined;

  const begin = async (own: number) => {
    beganAt = clock.now();
    // Listen before the first poll, so that changes in between are reported.
    if (live !== undefined)
      heard = hearHeadlines({
        live,
        onError,
        read: (headline) => readHeard(headline, own),
        missed: () => lookSoon(own),
      });
    for (const { stream, head } of (await listed()).values()) note(stream, head);
    if (own === round) arm(own);
  };

  const note = (stream: string, seq: number) => known.set(stream, Math.max(seq, known.get(stream) ?? 0));

  const arm = (own: number) => {
    stopTimer?.();
    stopTimer = clock.after(isMissed ? 0 : pollMs, () => {
      isMissed = false;
      isLooking = true;
      heard?.ask();
      look(own)
        .catch(onError) // the next round may succeed
        .finally(() => {
          isLooking = false;
          if (own === round) arm(own);
        });
    });
  };
  const lookSoon = (own: number) => {
    isMissed = true;
    if (!isLooking && own === round) arm(own);
  };

  const look = async (own: number) => {
    const found = await listed();
    const over = await ended(found);
    let left = MAX_EVENTS;
    for (const info of [...found.values(), ...over]) {
      if (isElsewhere(info.stream)) left -= await readOn(info, left, own);
      if (own !== round) return;
    }
    if (left > 0) for (const { stream } of over) known.delete(stream);
    if (known.size > MAX_KNOWN)
      for (const stream of known.keys()) if (!found.has(stream)) known.delete(stream);
  };

  const readHeard = async (headline: StreamUpdate, own: number) => {
    const { stream, from, to } = headline;
    if (!isElsewhere(stream)) return;
    if (!known.has(stream)) note(stream, Math.max(0, from - 1));
    await readTo(headline, to, MAX_EVENTS, own);
  };

  /** Returns how many events were read. */
  const readOn = (info: StreamInfo, most: number, own: number): Promise<number> => {
    const { stream, head, createdAt } = info;
    if (!known.has(stream)) note(stream, createdAt >= beganAt ? 0 : Math.max(0, head - LOOK_BACK));
    return readTo(info, head, most, own);
  };

  const readTo = async (ref: StreamRef, head: number, most: number, own: number): Promise<number> => {
    const { stream } = ref;
    let count = 0;
    for (let seq = known.get(stream) ?? 0; seq < head && count < most; seq = known.get(stream) ?? head) {
      const limit = Math.min(PAGE, most - count);
      const lines = await turnstile(() => store.read(stream, { from: seq + 1, limit }));
      if (lines.length === 0 || own !== round) break;
      for (const line of lines) {
        const event = decodeLine(line, ref);
        if (event.seq <= (known.get(stream) ?? 0)) continue;
        note(stream, event.seq);
        tell(event);
      }
      count += lines.length;
    }
    return count;
  };

  return {
    begun() {
      began ??= begin(++round).catch((thrown: unknown) => {
        began = undefined;
        throw thrown;
      });
      return began;
    },
    isKnown: note,
    stop() {
      round++;
      began = undefined;
      stopTimer?.();
      heard?.close();
      heard = undefined;
      known.clear();
    },
  };
}

/** Announcements of other processes about changed streams. */
export interface HeardHeadlines {
  /** Asks processes to announce changes. Repeated, because new processes may have started. */
  ask(): void;
  close(): void;
}

export interface HeardHeadlinesDeps {
  readonly live: LiveWire;
  /** Reads the events of a headline, one stream at a time. */
  readonly read: (headline: StreamUpdate) => Promise<unknown>;
  /** Some of it was missed. */
  readonly missed: () => void;
  readonly onError: (thrown: unknown) => void;
}

/** The most announced streams waiting to be read. With more, all streams are polled instead. */
const MAX_HEARD = 10_000;

function hearHeadlines({ live, read, missed, onError }: HeardHeadlinesDeps): HeardHeadlines {
  /** By stream, in the order in which they were heard of. */
  const heard = new Map<string, StreamUpdate>();
  let isReading = false;
  let isClosed = false;

  const note = (headline: StreamUpdate) => {
    const before = heard.get(headline.stream);
    heard.set(headline.stream, before === undefined ? headline : { ...headline, from: before.from });
  };
  const readAll = async () => {
    isReading = true;
    for (const headline of heard.values()) {
      heard.delete(headline.stream);
      await read(headline).catch(onError); // the next poll may succeed
      if (isClosed) return;
    }
    isReading = false;
  };
  const unlisten = live.listen(HEADLINES, {
    heard(text) {
      for (const headline of readUpdates(text)) note(headline);
      if (heard.size > MAX_HEARD) {
        heard.clear();
        missed();
      }
      if (!isReading) void readAll(); // reports its own failures
    },
    gap: missed,
  });
  const ask = () => live.send(ASKS, askText({ kind: 'headlines' }));
  ask();
  return {
    ask,
    close() {
      isClosed = true;
      unlisten();
      heard.clear();
    },
  };
}
