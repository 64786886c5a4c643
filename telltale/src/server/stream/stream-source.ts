import { followRemote, type RemoteFollow } from '../../agent/remote/follow-remote.ts';
import type { Runtime, Session } from '../../agent/runtime-types.ts';
import type { OpenSpeech } from '../../agent/speech.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Turnstile } from '../../lib/semaphore.ts';
import type { ObservedEvent } from '../../log/event.ts';
import type { Store } from '../../store/store.ts';

export interface HeadlinesDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly pulse: Pulse;
  readonly turnstile: Turnstile;
  readonly onError: (thrown: unknown) => void;
}

/** Gathers events and writes them. */
export interface Gatherer {
  /** When it last wrote. */
  flushedAt: number;
  /** Whether a flush is scheduled. */
  isDue: boolean;
  flush(): void;
}

/**
 * Decides when events are written: immediately while there is little to do, and under load once per window for each
 * channel.
 */
export interface Pulse {
  /** Schedules a flush. `events` is how many the last one makes, one for each client. */
  soon(gatherer: Gatherer, events: number): void;
  stop(): void;
}

/** The precision of windows. */
const TICK_MS = 5;

/** One timer for all channels. It only runs while something is waiting. */
export function createPulse(
  clock: Clock,
  { windowMs, quietEvents }: Pick<StreamLimits, 'windowMs' | 'quietEvents'>,
): Pulse {
  let waiting: Gatherer[] = [];
  let atOnce: Gatherer[] = [];
  let stopTimer: (() => void) | undefined;
  let windowAt = clock.monotonic();
  let events = 0;
  let wasBusy = false;

  const isBusy = (now: number): boolean => {
    const passed = now - windowAt;
    if (passed >= windowMs) {
      wasBusy = events > quietEvents && passed < 2 * windowMs;
      windowAt = now;
      events = 0;
    }
    return wasBusy || events > quietEvents;
  };

  const flush = (gatherer: Gatherer, now: number) => {
    gatherer.isDue = false;
    gatherer.flushedAt = now;
    gatherer.flush();
  };

  const flushAtOnce = () => {
    const due = atOnce;
    atOnce = [];
    const now = clock.monotonic();
    for (const gatherer of due) flush(gatherer, now);
  };

  const arm = () => {
    stopTimer = clock.after(TICK_MS, tick);
  };

  const tick = () => {
    const before = waiting;
    waiting = [];
    const now = clock.monotonic();
    for (const gatherer of before) {
      if (gatherer.flushedAt + windowMs <= now) flush(gatherer, now);
      else waiting.push(gatherer);
    }
    if (waiting.length > 0) arm();
    else stopTimer = undefined;
  };

  return {
    soon(gatherer, more) {
      events += more;
      if (gatherer.isDue) return;
      gatherer.isDue = true;
      const now = clock.monotonic();
      if (isBusy(now) && gatherer.flushedAt + windowMs > now) {
        waiting.push(gatherer);
        if (stopTimer === undefined) arm();
        // Events appended together are written together.
      } else if (atOnce.push(gatherer) === 1) queueMicrotask(flushAtOnce);
    },
    stop() {
      stopTimer?.();
      stopTimer = undefined;
      waiting = [];
    },
  };
}

/** The part of a runtime that streams use. */
export type StreamRuntime = Pick<Runtime, 'store' | 'watch' | 'session'>;

/**
 * The origin of a stream's events: the session, if this process owns it. Otherwise the store, and announcements of
 * other processes.
 */
export interface StreamSource {
  /** Whether this process owns it. */
  isHere(): boolean;
  /**
   * Reports the text of elements that are still open. If another process owns the stream, its deltas are requested from
   * the first call on, and open elements may be reported through `spoken` instead.
   */
  speech(told: (open: OpenSpeech | undefined) => void): void;
  /** Call this when this process may have become the owner. */
  look(): void;
  close(): void;
}

export interface StreamSourceDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly pages: () => ReadPage;
  readonly told: (event: ObservedEvent) => void;
  /** Reports open elements to all followers, because earlier deltas may have been missed. */
  readonly spoken: (open: OpenSpeech | undefined) => void;
  /** Called when the log may have new events. */
  readonly moved: () => void;
}

export function createStreamSource(deps: StreamSourceDeps): StreamSource {
  const { runtime, clock, kind, stream, pages, told, spoken, moved } = deps;
  const { store } = runtime;
  const live = kind === 'session' ? store.shared?.live : undefined;
  let session: Session<unknown> | undefined;
  let follow: RemoteFollow | undefined;
  let isAskedFor = false;
  let stop: (() => void) | undefined;
  let isClosed = false;

  const attach = () => {
    stop?.();
    follow = undefined;
    session = kind === 'session' ? runtime.session(stream) : undefined;
    if (session === undefined) {
      stop = store.watch(stream, moved);
      if (isAskedFor) listen();
      return;
    }
    const own = session;
    stop = own.subscribe(told);
    const letGo = () => {
      if (isClosed || session !== own) return;
      attach();
      moved();
    };
    own.result.then(letGo, letGo);
  };

  /** Starts at the end of the log. Earlier events are read by each client. */
  const listen = () => {
    isAskedFor = true;
    const watching = stop;
    store.info(stream).then((info) => {
      if (isClosed || info === undefined || stop !== watching) return;
      watching?.();
      // A log that cannot be read is found to be so by whoever tells the clients.
      follow = followRemote({ store, page: pages(), live, clock }, stream, info.head, {
        onEvent: told,
        onOpenSpeech: spoken,
        onFailure: moved,
      });
      stop = follow.close;
      moved();
    }, moved);
  };
  attach();

  return {
    isHere: () => session !== undefined,
    speech(asker) {
      if (session !== undefined) session.speech(asker);
      else if (follow !== undefined) follow.speech(asker);
      else if (live !== undefined && !isAskedFor) listen();
    },
    look() {
      if (session === undefined && kind === 'session' && runtime.session(stream) !== undefined) attach();
    },
    close() {
      isClosed = true;
      stop?.();
    },
  };
}

const FIRST_PAGE = 100;

/** Reads lines of a log from `from` on, about a page of them. */
export type ReadPage = (from: number) => Promise<readonly string[]>;

/** Reads pages. Their length adapts to the size of the last events, so a log of large events needs no more memory. */
export function createLogPages(
  store: Store,
  stream: string,
  { pageBytes, pageEvents }: Pick<StreamLimits, 'pageBytes' | 'pageEvents'>,
  turnstile: Turnstile,
): ReadPage {
  let limit = Math.min(FIRST_PAGE, pageEvents);
  return async (from) => {
    const lines = await turnstile(() => store.read(stream, { from, limit }));
    const chars = lines.reduce((sum, line) => sum + line.length, 0);
    if (lines.length > 0)
      limit = Math.max(1, Math.min(pageEvents, Math.floor((pageBytes * lines.length) / chars)));
    return lines;
  };
}

/** The limits of streams to clients. Everything is bounded, whatever clients do. */
export interface StreamLimits {
  /**
   * The most connections. One more is refused with `too_many_streams`. This is less than the server's limit, so that
   * other requests get through.
   */
  readonly maxClients: number;
  /** Under load, events of a channel are gathered for this long. */
  readonly windowMs: number;
  /** Up to this many events per window, each is written immediately. More counts as load. */
  readonly quietEvents: number;
  /** After this much silence a comment is sent, because proxies close idle connections. */
  readonly keepAliveMs: number;
  /**
   * The most bytes waiting in one client's socket. With more, the client must read all of them before it gets new ones.
   */
  readonly maxClientBytes: number;
  /** The most bytes waiting in all sockets together. Beyond that, connections with waiting data are closed. */
  readonly maxWaitingBytes: number;
  /** A client that reads nothing for this long is dropped, and may reconnect. */
  readonly patienceMs: number;
  /** The approximate size of one read of a log. */
  readonly pageBytes: number;
  /** The most events in one read of a log. */
  readonly pageEvents: number;
  /** The most concurrent reads of logs. */
  readonly maxReads: number;
  /** How often streams of other processes are polled for headlines. */
  readonly pollMs: number;
  /** The same if other processes announce changes. Polling then only finds what was not announced. */
  readonly sharedPollMs: number;
  /** When the server closes, clients have this long to read waiting data. */
  readonly farewellMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const STREAM_LIMITS: StreamLimits = {
  maxClients: 8_000,
  windowMs: 50,
  quietEvents: 250,
  keepAliveMs: 15_000,
  maxClientBytes: 256 * KIB,
  maxWaitingBytes: 64 * MIB,
  patienceMs: 30_000,
  pageBytes: 256 * KIB,
  pageEvents: 1_000,
  maxReads: 16,
  pollMs: 1_000,
  sharedPollMs: 10_000,
  farewellMs: 2_000,
};
