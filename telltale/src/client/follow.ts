import type { Clock } from '../kernel/clock.ts';
import { tellOne } from '../kernel/tell-all.ts';
import type { Followed } from './client.ts';
import { type ConnectDeps, connectStream, type StreamRequest } from './connect-stream.ts';

export interface Following<Event> extends StreamRequest {
  readonly after: number;
  readonly listener: (told: Followed<Event>) => void;
}

export interface FollowDeps extends ConnectDeps {
  /** From 0 to 1: clients that were lost together do not come back together. */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

/**
 * Follows an event stream and comes back whenever it breaks, until it ends or the returned function is called. What the
 * listener throws is uncaught: it is no break of the connection, and the next event is told all the same.
 */
export function follow<Event>(edges: FollowDeps, following: Following<Event>): () => void {
  const { clock, random } = edges;
  const { listener } = following;
  const over = new AbortController();
  let after = following.after;
  /** What the server asked for, by `retry:`. */
  let wanted: number | undefined;
  let failures = 0;

  const tell = (told: Followed<Event>) => {
    if (!over.signal.aborted) tellOne(listener, told);
  };
  const take = (event: Event, id: number | undefined): boolean => {
    if (following.numbered && id !== undefined) {
      if (id <= after) return true;
      if (id !== after + 1) return false;
      after = id;
    }
    failures = 0;
    tell({ kind: 'event', event });
    return true;
  };
  const opened = () => tell({ kind: 'open', after });

  const run = async () => {
    while (!over.signal.aborted) {
      const ending = await connectStream(edges, following, over.signal, {
        after,
        take,
        opened,
        retry(ms) {
          wanted = ms;
        },
      });
      if (ending.kind === 'end') return tell({ kind: 'end' });
      const error = ending.error.toJSON();
      if (ending.kind === 'refused') {
        tell({ kind: 'lost', error, retryInMs: Number.POSITIVE_INFINITY });
        return tell({ kind: 'end' });
      }
      const backOff = Math.min((wanted ?? FIRST_RETRY_MS) * 2 ** failures, MAX_RETRY_MS);
      failures++;
      const retryInMs = Math.round(ending.afterMs ?? backOff * (0.75 + random() / 2));
      tell({ kind: 'lost', error, retryInMs });
      await pause(clock, retryInMs, over.signal);
    }
  };
  void run(); // it tells its own failures
  return () => over.abort();
}

const pause = (clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      disarm();
      resolve();
    };
    const disarm = clock.after(ms, () => {
      signal.removeEventListener('abort', end);
      resolve();
    });
    signal.addEventListener('abort', end, { once: true });
  });
