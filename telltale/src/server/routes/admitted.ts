import type { Runtime } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { withHeaders } from '../http/error-answer.ts';
import { isMadeBefore } from '../http/idempotency.ts';

export interface AdmittedAdmissionDeps {
  readonly runtime: Pick<Runtime, 'fleet' | 'store' | 'places'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

type AdmittedPlace = NonNullable<ReturnType<NonNullable<Runtime['places']>['reserve']>>;

/** Something new that was admitted, and counts from now on. */
export interface Accepted {
  /** Whether it is queued for another process. */
  readonly queued: boolean;
  /** The reserved slot. Always release it, even after it was used. */
  readonly place: AdmittedPlace | undefined;
}

/** How long clients of a full fleet are asked to wait. */
const RETRY_AFTER_S = '5';
/** A stream frees its slot a moment after its client sees the end. */
const GRACE_MS = 1_000;

/**
 * Decides where something new can start. Throws `fleet_full` if nowhere, before anything is written. `id` is the id
 * derived from a repeated request: if the stream exists already, it needs no slot.
 */
export async function admitted(
  { fleet, store }: Pick<Runtime, 'fleet' | 'store'>,
  id?: string,
  how?: 'now',
): Promise<'here' | 'queue'> {
  if (fleet === undefined) return 'here';
  const admission = await fleet.admit(how);
  if (admission !== 'full') return admission;
  if (await isThere(store, id)) return 'queue';
  throw fleetFull(fleet.name);
}

/**
 * Admits something new and counts it immediately. If all slots are taken, a run waits in the queue, and a session is
 * refused with `fleet_full`.
 */
export async function accepted(
  deps: AdmittedAdmissionDeps,
  kind: 'session' | 'run',
  id?: string,
): Promise<Accepted> {
  const { runtime } = deps;
  const { places, fleet, store } = runtime;
  const how = kind === 'session' ? 'now' : undefined;
  if (places === undefined)
    return { queued: (await admitted(runtime, id, how)) === 'queue', place: undefined };
  const attempt = async (): Promise<Accepted | undefined> => {
    const where = fleet === undefined ? 'here' : await fleet.admit(how);
    if (where === 'queue') return { queued: true, place: undefined };
    const place = where === 'here' ? places.reserve() : undefined;
    if (place !== undefined) return { queued: false, place };
    // With a store of a single machine, a run waits in this process. A stream that exists already needs no slot.
    if (kind === 'run' && fleet === undefined) return { queued: false, place };
    return (await isThere(store, id)) ? { queued: fleet !== undefined, place } : undefined;
  };
  return untilFree(deps, attempt);
}

/** Reserves a slot in this process for a stream that only it can continue. Throws `fleet_full`. */
export async function placeHere(
  deps: AdmittedAdmissionDeps,
  kind: 'session' | 'run',
  id: string,
): Promise<AdmittedPlace | undefined> {
  const { places } = deps.runtime;
  return places === undefined ? undefined : untilFree(deps, async () => places.reserve(kind, id));
}

/** Retries for a moment until there is a slot. */
async function untilFree<T>(
  { runtime: { fleet, places }, clock }: AdmittedAdmissionDeps,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const end = clock.monotonic() + GRACE_MS;
  for (;;) {
    const found = await attempt();
    if (found !== undefined) return found;
    const left = end - clock.monotonic();
    if (left <= 0) throw fleet === undefined ? serverFull(places?.capacity ?? 0) : fleetFull(fleet.name);
    await new Promise<void>((resolve) => {
      const go = () => {
        cancel();
        unheard?.();
        resolve();
      };
      const unheard = places?.onFree(go);
      const cancel = clock.after(left, go);
    });
  }
}

const isThere = async (store: Pick<Runtime['store'], 'info'>, id: string | undefined): Promise<boolean> =>
  id !== undefined && ((await store.info(id))?.head ?? 0) > 0;

const fleetFull = (fleet: string) =>
  full(
    `All workers of the fleet "${fleet}" are busy.`,
    'Try again in some seconds, or start more workers: telltale worker. Nothing was started.',
  );

const serverFull = (capacity: number) =>
  full(
    `This server is already running ${capacity} sessions and runs, which is its --capacity.`,
    'Try again in some seconds, or start it with a larger one: telltale serve --capacity N. Nothing was started.',
  );

const full = (message: string, hint: string) =>
  withHeaders(new RuntimeError('fleet_full', message, { hint, retryable: true }), {
    'retry-after': RETRY_AFTER_S,
  });

/** The common part of a session and a run. */
interface Starting<Event, Result> {
  readonly result: Promise<Result>;
  subscribe(listener: (event: Event) => void): () => void;
}

/** Resolves once an event after `after` is on the log, or it has ended. Rejects if it cannot start. */
export function begun<Event extends object, Result>(
  starting: Starting<Event, Result>,
  after = 0,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (then: () => void) => {
      isOver = true;
      unsubscribe?.();
      then();
    };
    let unsubscribe: (() => void) | undefined;
    unsubscribe = starting.subscribe((event) => {
      if (!isOver && 'seq' in event && typeof event.seq === 'number' && event.seq > after) end(resolve);
    });
    starting.result.then(
      () => end(resolve),
      (thrown) => end(() => reject(thrown)),
    );
  });
}

/** Like `begun`. Returns false if an earlier request with the same key has already started it. */
export async function begunOnce<Event extends object, Result>(
  starting: Starting<Event, Result>,
  id: string | undefined,
): Promise<boolean> {
  try {
    await begun(starting);
    return true;
  } catch (thrown) {
    if (id === undefined || !isMadeBefore(thrown)) throw thrown;
    return false;
  }
}
