import type { Followed, LiveSnapshot, TelltaleClient } from '../../../../../telltale/src/client/client.ts';
import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { toRuntimeError } from '../../../../../telltale/src/lib/errors.ts';
import type { LiveEvent, SessionEvent } from '../../../../../telltale/src/log/event.ts';

/** How complete the log is. `lost` means that what is shown is correct but newer events may be missing. */
export type LogStatus =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly error: ErrorJson; readonly retryAt: number }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

export interface LogListener {
  /** Receives events in order, each once, without a gap. */
  events(batch: readonly SessionEvent[]): void;
  live(event: LiveEvent | LiveSnapshot): void;
  status(status: LogStatus): void;
}

export type LogSource = Pick<TelltaleClient, 'sessionEvents' | 'followSession'>;

export interface SessionLog {
  /**
   * Loads the events after the last known one, then follows. A session may continue after its end, so this works then
   * too.
   */
  open(): void;
  close(): void;
}

/** How many events the server returns at once. */
const PAGE = 10_000;
/** How many events may arrive while a gap is being closed. Beyond that, the log is loaded from there. */
const MAX_HELD = 10_000;

type Told = Followed<SessionEvent | LiveEvent | LiveSnapshot>;

/**
 * The log of one session: all of it, then new events. Whatever the connection does, the listener gets each event once
 * and in order. Known events are dropped, and events after a gap wait until the gap is loaded.
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
      // Request the next page while this one is being folded.
      const end = page.items.at(-1)?.seq ?? before;
      asked = page.next === undefined || end === before ? undefined : ask(end);
      take(page.items);
    }
  };

  /** Loads the events after the last one, then those that arrived meanwhile. */
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
