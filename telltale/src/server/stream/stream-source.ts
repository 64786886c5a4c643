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

/** Something that gathers events and writes them. */
export interface Gatherer {
  /** When it last wrote. */
  flushedAt: number;
  /** Whether it is going to. */
  isDue: boolean;
  flush(): void;
}

/** When events are written: at once while there is quiet, and under load once in a window for each channel. */
export interface Pulse {
  /** Has it flushed soon. `events`: how many the last one makes, one for each client. */
  soon(gatherer: Gatherer, events: number): void;
  stop(): void;
}

/** How exactly windows are kept. */
const TICK_MS = 5;

/** One timer for all channels, which runs while something waits. */
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
        // What is appended in one go is told in one go: one write.
      } else if (atOnce.push(gatherer) === 1) queueMicrotask(flushAtOnce);
    },
    stop() {
      stopTimer?.();
      stopTimer = undefined;
      waiting = [];
    },
  };
}

/** What is needed of a runtime. */
export type StreamRuntime = Pick<Runtime, 'store' | 'watch' | 'session'>;

/** Where a stream's events come from: the session, where it is worked on here, else the store and what other processes tell. */
export interface StreamSource {
  /** Whether it is worked on here. */
  isHere(): boolean;
  /**
   * Tells what is said of elements that are still open. Where another process works on it, deltas are asked for from the
   * first time on that somebody wants to know, and what is open may be told by `spoken` instead.
   */
  speech(told: (open: OpenSpeech | undefined) => void): void;
  /** To be called when it may have been taken up here. */
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
  /** What is open, for all: deltas that came before may have been missed. */
  readonly spoken: (open: OpenSpeech | undefined) => void;
  /** The log may have more than was told. */
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

  /** From the log's end on; what is before it is read by whoever needs it. */
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

/** The lines of a log from `from` on, as many as make about a page. */
export type ReadPage = (from: number) => Promise<readonly string[]>;

/** The size of a page follows that of the events read last: a log of large ones costs no more memory. */
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

/** What streams to clients may take. All of it is bounded, whatever clients do. */
export interface StreamLimits {
  /** Connections at once; one more is refused with `too_many_streams`. Fewer than the server takes: others have to come through. */
  readonly maxClients: number;
  /** Under load, events of a channel are gathered for so long. */
  readonly windowMs: number;
  /** Events to clients in a window up to which each is written at once; with more, there is load. */
  readonly quietEvents: number;
  /** After so long a silence a comment is sent: proxies end what seems dead. */
  readonly keepAliveMs: number;
  /** What may wait in the socket of one client; one with more is written to again when it has read all of it. */
  readonly maxClientBytes: number;
  /** What may wait in all sockets together; beyond it no client may have anything waiting. */
  readonly maxWaitingBytes: number;
  /** A client that reads nothing for so long is let go of, and may come back. */
  readonly patienceMs: number;
  /** What is read of a log at a time, about. */
  readonly pageBytes: number;
  /** Events that are read of a log at a time. */
  readonly pageEvents: number;
  /** Reads of logs at once. */
  readonly maxReads: number;
  /** How often streams of other processes are looked at for headlines. */
  readonly pollMs: number;
  /** The same where other processes say which have moved: only what they could not say is found by it. */
  readonly sharedPollMs: number;
  /** When the server closes, clients have so long to take what is on its way to them. */
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
