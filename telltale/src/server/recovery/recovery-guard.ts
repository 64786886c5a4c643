import type { Clock } from '../../lib/clock.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { SessionEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import { quarantine } from '../../store/quarantine.ts';
import type { Store } from '../../store/store.ts';

/**
 * Watches the event loop from outside, and kills the process if it hangs. It records which streams were being
 * recovered, for `hungBefore` of the next process.
 */
export interface HangWatch {
  /** The streams that were being recovered when an earlier process hung. */
  readonly hungBefore: readonly string[];
  begin(stream: string): void;
  past(stream: string): void;
  close(): Promise<void>;
}

/**
 * Counts how often the recovery of a stream started but did not succeed, because the process hung or died. A suspected
 * stream is recovered alone, after all others, and quarantined if that fails repeatedly.
 */
export interface RecoveryGuard {
  /** Splits streams into those that are recovered together and those that are recovered alone. Quarantines the rest. */
  sort(streams: readonly string[]): Promise<Sorted>;
  /** Records durably that the recovery of a stream starts. */
  begin(stream: string): Promise<void>;
  /** Waits until a stream has survived its first steps: something completed, it ended, or some time has passed. */
  past(stream: string): Promise<void>;
  /** Forgets recoveries started here, because the process exits normally. */
  close(): Promise<void>;
}

export interface Sorted {
  readonly fresh: readonly string[];
  readonly suspected: readonly string[];
}

export interface RecoveryGuardDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly watch: (watcher: (event: SessionEvent | RunEvent) => void) => () => void;
  readonly hangWatch?: HangWatch | undefined;
  /** Called for each stream that is quarantined. */
  readonly onQuarantined: (stream: string, why: string) => void;
  readonly onError: (thrown: unknown) => void;
}

const TABLE = 'store.recovery';
/** A hang is certain, because the watch has observed it. */
const MAX_HANGS = 2;
/** A process may die for other reasons: kill -9 is a normal way to stop. */
const MAX_DEATHS = 5;
/** A process that still runs after this time has survived the first steps. */
const PAST_MS = 10_000;
const MAX_NOTED = 100_000;
/** Events that show progress after a recovery. A stream that hangs does not produce them. */
const PROGRESS = /(?:\.|^)(?:completed|failed|waiting|stalled|cancelled)$/;

interface Attempts {
  readonly deaths: number;
  readonly hangs: number;
}

export function createRecoveryGuard(deps: RecoveryGuardDeps): RecoveryGuard {
  const { store, clock, hangWatch, onQuarantined, onError } = deps;
  const { tables } = store;
  /** Streams whose recovery started here and has not succeeded yet. */
  const open = new Map<string, { readonly passed: Promise<void>; readonly pass: () => void }>();
  const noted = new Map<string, Attempts>();

  const forget = async (stream: string): Promise<void> => {
    noted.delete(stream);
    await tables.delete(TABLE, stream);
  };

  const unwatch = deps.watch((event) => {
    const { session, run } = event as { readonly session?: unknown; readonly run?: unknown };
    const stream = typeof run === 'string' && open.has(run) ? run : session;
    if (typeof stream === 'string' && PROGRESS.test(event.type)) open.get(stream)?.pass();
  });

  /** Reads the records of earlier processes, and adds the hang that the watch has observed. */
  const read = async (): Promise<void> => {
    for (const stream of await tables.keys(TABLE, { limit: MAX_NOTED })) {
      const row = await tables.get(TABLE, stream);
      if (isJsonObject(row) && typeof row.deaths === 'number' && typeof row.hangs === 'number')
        noted.set(stream, { deaths: row.deaths, hangs: row.hangs });
    }
    const hung = hangWatch?.hungBefore ?? [];
    for (const stream of hung) {
      const { deaths, hangs } = noted.get(stream) ?? { deaths: 1, hangs: 0 };
      // If several were in progress, nobody knows which one hung. They are tried alone first.
      const counted = hung.length === 1 ? hangs + 1 : Math.max(hangs, 1);
      noted.set(stream, { deaths, hangs: counted });
      await tables.set(TABLE, stream, { deaths, hangs: counted });
    }
  };

  const setAside = async (stream: string, { deaths, hangs }: Attempts): Promise<boolean> => {
    const why =
      hangs >= MAX_HANGS
        ? `The process hung ${hangs} times while it recovered this.`
        : `The process died ${deaths} times while it recovered this.`;
    try {
      await quarantine(store, stream, why, clock.now());
      await forget(stream);
      onQuarantined(stream, why);
      return true;
    } catch (thrown) {
      onError(thrown);
      return false;
    }
  };

  return {
    async sort(streams) {
      if (noted.size === 0) await read();
      const fresh: string[] = [];
      const suspected: string[] = [];
      for (const stream of streams) {
        const attempts = noted.get(stream);
        if (attempts === undefined) fresh.push(stream);
        else if (attempts.hangs < MAX_HANGS && attempts.deaths < MAX_DEATHS) suspected.push(stream);
        else await setAside(stream, attempts);
      }
      return { fresh, suspected };
    },
    async begin(stream) {
      const { deaths, hangs } = noted.get(stream) ?? { deaths: 0, hangs: 0 };
      await tables.set(TABLE, stream, { deaths: deaths + 1, hangs });
      let pass = () => {};
      const passed = new Promise<void>((resolve) => {
        pass = resolve;
      });
      const cancel = clock.after(PAST_MS, () => pass());
      open.set(stream, { passed, pass });
      hangWatch?.begin(stream);
      void passed.then(() => {
        cancel();
        open.delete(stream);
        hangWatch?.past(stream);
        forget(stream).catch(onError); // a suspicion that remains only makes one startup slower
      });
    },
    past: (stream) => open.get(stream)?.passed ?? Promise.resolve(),
    async close() {
      unwatch();
      const left = [...open.keys()];
      for (const { pass } of open.values()) pass();
      await Promise.all(left.map((stream) => forget(stream).catch(onError)));
      await hangWatch?.close();
    },
  };
}
