import type { Clock } from '../lib/clock.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { Store } from '../store/store.ts';
import {
  DEADLY,
  MAX_OFFERS,
  MAX_WORKER_LOSSES,
  type QuarantinedWork,
  type WorkOffer,
  type WorkQueue,
} from './work-queue.ts';

export interface RecoveryDeps {
  readonly shared: Pick<SharedStore, 'orphans' | 'isAlive'>;
  readonly queue: WorkQueue;
  readonly onQuarantined: (aside: QuarantinedWork) => void;
  /** Used to find quarantined streams that are being worked on again or have ended. */
  readonly store?: Pick<Store, 'info'>;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

/** All processes together run recovery once in this time. */
const SWEEP_MS = 900;
/** The same after a notification. */
const POKED_MS = 100;
/**
 * The maximum number of streams per round. Those that wait longest come first, and later rounds find the
 * others.
 */
const MAX_UNOWNED = 16_000;

/** How often quarantined streams are checked, and how many. */
const QUARANTINE_MS = 15_000;
const MOST_QUARANTINED = 200;

/** Ends the quarantine of streams that have ended or are being worked on, and returns the others. */
export async function stillQuarantined(
  store: Pick<Store, 'info'>,
  queue: Pick<WorkQueue, 'laidAside' | 'forget'>,
  limit: number,
): Promise<readonly QuarantinedWork[]> {
  const all = await queue.laidAside(limit);
  const infos = await Promise.all(all.map(({ stream }) => store.info(stream)));
  const isOver = (_: QuarantinedWork, at: number) => {
    const info = infos[at];
    return info === undefined || info.owner !== undefined || !ALIVE.has(info.status);
  };
  const over = all.filter(isOver);
  if (over.length > 0) await queue.forget(over);
  return all.filter((each) => !over.includes(each));
}

const ALIVE: ReadonlySet<string> = new Set(['running', 'waiting']);

/**
 * Offers streams without an owner that have work: dispatched without room, released, owned by a dead process,
 * due, or with a message.
 */
export function createRecovery({ shared, queue, onQuarantined, store, clock }: RecoveryDeps) {
  let limit = MAX_OFFERS;
  let wasRefused = false;
  let lookedAt = clock?.monotonic() ?? 0;

  /**
   * Streams that are offered or quarantined already are included. If they fill a page, a larger one is read.
   */
  const offerUnowned = async () => {
    for (;;) {
      const orphans = await shared.orphans(limit);
      const all = orphans.map(
        ({ kind, stream, root, deaths }): WorkOffer => ({
          kind,
          stream,
          group: root,
          ...(deaths === 0 ? {} : { deaths }),
        }),
      );
      const isDeadly = ({ deaths = 0 }: WorkOffer) => deaths >= MAX_WORKER_LOSSES;
      for (const aside of await queue.quarantine(all.filter(isDeadly), DEADLY)) onQuarantined(aside);
      const offers = all.filter((offer) => !isDeadly(offer));
      let added = 0;
      for (let at = 0; at < offers.length; at += MAX_OFFERS)
        added += await queue.offer(offers.slice(at, at + MAX_OFFERS));
      if (orphans.length < limit) limit = MAX_OFFERS;
      else if (added < MAX_OFFERS / 2 && limit < MAX_UNOWNED) {
        limit *= 2;
        continue;
      }
      return;
    }
  };

  return async (woken: boolean): Promise<'soon' | undefined> => {
    if (!shared.isAlive()) return undefined;
    if (!(await queue.turn(woken ? POKED_MS : SWEEP_MS))) {
      // Another process may have run recovery just before the notification. If refused again, it has run
      // after it.
      const isSecond = wasRefused;
      wasRefused = woken && !isSecond;
      return wasRefused ? 'soon' : undefined;
    }
    wasRefused = false;
    for (const aside of await queue.tend()) onQuarantined(aside);
    await offerUnowned();
    if (store !== undefined && clock !== undefined && clock.monotonic() - lookedAt >= QUARANTINE_MS) {
      lookedAt = clock.monotonic();
      await stillQuarantined(store, queue, MOST_QUARANTINED);
    }
    return undefined;
  };
}

/** A task that runs about once a second, and sooner after a wake-up. */
export interface PeriodicTask {
  start(): void;
  wake(): void;
  /** Resolves once a running execution has ended. No other one starts. */
  stop(): Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly clock: Clock;
  /** A random number from 0 to 1, to spread many processes. */
  readonly random: () => number;
  /** How long wake-ups are collected. */
  readonly soonMs: number;
  /** `soon` asks for the next one as a poke does. `poked`: since the last one somebody had reason to ask. */
  readonly run: (woken: boolean) => Promise<'soon' | undefined>;
  /** Called with the first error in a row, and then once a minute. */
  readonly onError: (thrown: unknown) => void;
}

const EVERY_MS = 1_000;
/** The random part of the pause. */
const JITTER = 0.2;
const TELL_MS = 60_000;

/**
 * Runs one execution at a time. After an error wake-ups do not shorten the pause, so a failing task runs at
 * most once a second.
 */
export function createPeriodicTask({
  clock,
  random,
  soonMs,
  run,
  onError,
}: PeriodicTaskOptions): PeriodicTask {
  let cancel: (() => void) | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let running: Promise<void> | undefined;
  let status: 'new' | 'started' | 'stopped' = 'new';
  let woken = false;
  let failing = false;
  let toldAt = Number.NEGATIVE_INFINITY;

  const arm = (delayMs: number) => {
    const due = clock.monotonic() + delayMs;
    if (status !== 'started' || running !== undefined || due >= dueAt) return;
    cancel?.();
    dueAt = due;
    cancel = clock.after(delayMs, beat);
  };

  const beat = () => {
    cancel = undefined;
    dueAt = Number.POSITIVE_INFINITY;
    const wasPoked = woken;
    woken = false;
    running = run(wasPoked).then(
      (next) => settle(next === 'soon'),
      (thrown) => {
        const now = clock.monotonic();
        if (!failing || now - toldAt >= TELL_MS) {
          toldAt = now;
          onError(thrown);
        }
        settle('failed');
      },
    );
  };

  const settle = (next: boolean | 'failed') => {
    running = undefined;
    failing = next === 'failed';
    if (next === true) woken = true;
    arm(woken && !failing ? soonMs : EVERY_MS * (1 + JITTER * random()));
  };

  return {
    start() {
      if (status !== 'new') return;
      status = 'started';
      arm(soonMs);
    },
    wake() {
      woken = true;
      if (!failing) arm(soonMs);
    },
    async stop() {
      status = 'stopped';
      cancel?.();
      await running;
    },
  };
}
