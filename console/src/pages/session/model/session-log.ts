import type { Followed, LiveSnapshot, TelltaleClient } from '../../../../../telltale/src/client/client.ts';
import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { toRuntimeError } from '../../../../../telltale/src/lib/errors.ts';
import type { LiveEvent, SessionEvent } from '../../../../../telltale/src/log/event.ts';

/** How the log stands with the server. `lost`: what is shown is true, but may no longer be all. */
export type LogStatus =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly error: ErrorJson; readonly retryAt: number }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

export interface LogListener {
  /** Events in order, each once, without a gap. */
  events(batch: readonly SessionEvent[]): void;
  live(event: LiveEvent | LiveSnapshot): void;
  status(status: LogStatus): void;
}

export type LogSource = Pick<TelltaleClient, 'sessionEvents' | 'followSession'>;

export interface SessionLog {
  /** Loads what is behind the last known event, then follows. Also after an end: a session may go on. */
  open(): void;
  close(): void;
}

/** What the server gives at a time. */
const PAGE = 10_000;
/** Events that may come while a gap is being closed; beyond that the log is loaded on from where it is. */
const MAX_HELD = 10_000;

type Told = Followed<SessionEvent | LiveEvent | LiveSnapshot>;

/**
 * The log of one session: all of it, then what comes. Whatever the connection does, its listener is told each event
 * once and in order: one that is known is dropped, and one from behind a gap waits until the gap is loaded.
 */
export function createSessionLog(
  source: LogSource,
  id: string,
  listener: LogListener,
  now: () => number = Date.now,
): SessionLog {
  let last = 0;
  let held: SessionEvent[] = [];
  let isLoading = false;
  let stop: (() => void) | undefined;
  let abort: AbortController | undefined;

  const take = (batch: readonly SessionEvent[]): void => {
    const fresh: SessionEvent[] = [];
    for (const event of batch) {
      if (event.seq !== last + 1) continue;
      fresh.push(event);
      last = event.seq;
    }
    if (fresh.length > 0) listener.events(fresh);
  };

  const load = async (signal: AbortSignal): Promise<void> => {
    const ask = (after: number) => source.sessionEvents(id, { after, limit: PAGE }, { signal });
    let asked: ReturnType<typeof ask> | undefined = ask(last);
    while (asked !== undefined) {
      const before = last;
      const page: Awaited<typeof asked> = await asked;
      if (signal.aborted) return;
      // The next page is on its way while this one is folded.
      const end = page.items.at(-1)?.seq ?? before;
      asked = page.next === undefined || end === before ? undefined : ask(end);
      take(page.items);
    }
  };

  /** Loads what is behind the last event, then what came meanwhile. */
  const catchUp = async (signal: AbortSignal): Promise<void> => {
    isLoading = true;
    held = [];
    try {
      await load(signal);
    } finally {
      isLoading = false;
    }
    if (signal.aborted) return;
    const waited = held;
    held = [];
    take(waited);
    if (waited.length >= MAX_HELD) await catchUp(signal);
  };

  const failed = (thrown: unknown): void => {
    if (abort?.signal.aborted !== false) return;
    close();
    listener.status({ kind: 'failed', error: toRuntimeError(thrown).toJSON() });
  };

  const hear = (signal: AbortSignal) => (told: Told) => {
    if (signal.aborted) return;
    switch (told.kind) {
      case 'open':
        listener.status({ kind: 'live' });
        return;
      case 'lost':
        listener.status({ kind: 'lost', error: told.error, retryAt: now() + told.retryInMs });
        return;
      case 'end':
        listener.status({ kind: 'ended' });
        return;
      case 'event':
        receive(told.event, signal);
    }
  };

  const receive = (event: SessionEvent | LiveEvent | LiveSnapshot, signal: AbortSignal): void => {
    if (!('seq' in event)) listener.live(event);
    else if (isLoading) {
      if (held.length < MAX_HELD) held.push(event);
    } else if (event.seq > last + 1) {
      catchUp(signal).catch(failed);
      held.push(event);
    } else take([event]);
  };

  const close = (): void => {
    abort?.abort();
    stop?.();
    stop = undefined;
  };

  return {
    open() {
      close();
      abort = new AbortController();
      const { signal } = abort;
      listener.status({ kind: 'loading' });
      catchUp(signal)
        .then(() => {
          if (signal.aborted) return;
          stop = source.followSession(id, hear(signal), { after: last, live: true });
        })
        .catch(failed);
    },
    close,
  };
}
