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
  /** To tell which quarantined streams somebody works on again, or has ended. */
  readonly store?: Pick<Store, 'info'>;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

/** All processes together look once in that time, whatever happens. */
const SWEEP_MS = 900;
/** And so often where one was told that there may be something to find. */
const POKED_MS = 100;
/** Streams that are looked at in one sweep. Those that wait longest come first, so the others are found later. */
const MAX_UNOWNED = 16_000;

/** How often quarantined streams are looked at, and how many of them. */
const QUARANTINE_MS = 15_000;
const MOST_QUARANTINED = 200;

/** Forgets that a stream was quarantined which has ended since, or that somebody has got going. Gives the others. */
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
 * Offers what nobody works on: streams that were placed where there was no room, whose owner died or let go of them,
 * whose time has come, or that were sent a message.
 */
export function createRecovery({ shared, queue, onQuarantined, store, clock }: RecoveryDeps) {
  let limit = MAX_OFFERS;
  let wasRefused = false;
  let lookedAt = clock?.monotonic() ?? 0;

  /** Those that are offered or laid aside already are among them: where these fill a page, more is asked for. */
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
      // Whoever swept may have looked just before this one was poked. If it is refused again, somebody looked after it.
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

/** Something that a process does about once a second, and sooner when it is told that there may be reason to. */
export interface PeriodicTask {
  start(): void;
  wake(): void;
  /** Resolves once what is under way has ended; nothing is begun after that. */
  stop(): Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly clock: Clock;
  /** From 0 up to 1: keeps a thousand processes from beating at once. */
  readonly random: () => number;
  /** How long pokes are gathered. */
  readonly soonMs: number;
  /** `soon` asks for the next one as a poke does. `poked`: since the last one somebody had reason to ask. */
  readonly run: (woken: boolean) => Promise<'soon' | undefined>;
  /** Told of the first error of a row, and then once a minute. */
  readonly onError: (thrown: unknown) => void;
}

const EVERY_MS = 1_000;
/** Of the pause, by chance. */
const JITTER = 0.2;
const TELL_MS = 60_000;

/** One at a time. After an error no poke shortens the pause: whatever is broken is tried once a second at the most. */
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
