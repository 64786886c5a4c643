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

/** Something new that was let in, and counts from now on. */
export interface Accepted {
  /** It is written down for another process. */
  readonly queued: boolean;
  /** Until it has a place of its own: to be released in any case. */
  readonly place: AdmittedPlace | undefined;
}

/** For as long as a full fleet's clients are asked to wait. */
const RETRY_AFTER_S = '5';
/** What has just ended gives its place back a moment after its client sees the end. */
const GRACE_MS = 1_000;

/**
 * Where something new may begin. Throws `fleet_full` where that is nowhere, before anything is written. `id` is what it
 * is made under where a request may be one that was made before: what is there then needs no room.
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
 * Lets something new in, and counts it at once. A run waits for its turn where all is taken; a session is refused with
 * `fleet_full` where no process of the fleet has a place for it.
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
    // On a store of one machine it waits in this process; what was begun before needs no room.
    if (kind === 'run' && fleet === undefined) return { queued: false, place };
    return (await isThere(store, id)) ? { queued: fleet !== undefined, place } : undefined;
  };
  return untilFree(deps, attempt);
}

/** A place in this process for something that only it can go on with. Throws `fleet_full`. */
export async function placeHere(
  deps: AdmittedAdmissionDeps,
  kind: 'session' | 'run',
  id: string,
): Promise<AdmittedPlace | undefined> {
  const { places } = deps.runtime;
  return places === undefined ? undefined : untilFree(deps, async () => places.reserve(kind, id));
}

/** Tries until there is room, for a moment. */
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
    'Try again in some seconds, or start more workers: telltale worker. Nothing was begun.',
  );

const serverFull = (capacity: number) =>
  full(
    `This server works on ${capacity} sessions and runs, which is all that its --capacity allows.`,
    'Try again in some seconds, or start it with a larger one: telltale serve --capacity N. Nothing was begun.',
  );

const full = (message: string, hint: string) =>
  withHeaders(new RuntimeError('fleet_full', message, { hint, retryable: true }), {
    'retry-after': RETRY_AFTER_S,
  });

/** What both a session and a run are, from outside. */
interface Starting<Event, Result> {
  readonly result: Promise<Result>;
  subscribe(listener: (event: Event) => void): () => void;
}

/** Resolves once something of it is on its log behind `after`, or it has come to an end; rejects where it cannot begin. */
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

/** As `begun`. False where it was begun before, under an id that stands for one request. */
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
