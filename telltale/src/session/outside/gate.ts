import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, Tables } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import type { OutsideOutcome } from '../runs/run-types.ts';
import type { BegunRun } from './begun-run.ts';
import {
  enterGate,
  type GateLimit,
  type GateRow,
  type LetIn,
  leaveGate,
  lookThrough,
  type Standing,
} from './gate-row.ts';
import { createGateTable } from './gate-table.ts';

/** A run that a trigger sets off: its id, and what it is started with. */
export interface Entrant {
  readonly run: string;
  readonly seen: JsonObject;
  /** It is on its log, or waits in the store, or never will start; or what was thrown. Called once. */
  over(thrown?: unknown): void;
}

export interface GateDeps {
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  readonly start: (run: string, seen: JsonObject) => BegunRun;
  /** Asks for the end of a run, wherever it is worked on. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** `concurrency` of a trigger, over all processes of a store, and through restarts. */
export interface Gate {
  enter(entrant: Entrant): Promise<OutsideOutcome>;
  close(): void;
}

/** Runs whose ends are looked for side by side. */
const LOOKS = 32;
/** While some wait here, ends of runs that another process works on are looked for this often. */
const QUEUED_LOOK_MS = 2_000;
/** Some may wait that a process left behind which is dead. */
const IDLE_LOOK_MS = 30_000;
/** A store that fails is asked again after that. */
const RETRY_MS = 10_000;

const REPLACED = 'Its trigger came again, and says when_busy: replace.';

/**
 * A run is let in in the store first, with what it is started with. Its id follows from what set it off: whoever starts
 * what another left does not start it twice, and one that takes long to begin is still counted. So there are never more
 * than `max`, and what waits is lost with no process.
 */
export function createGate(deps: GateDeps, name: string, limit: GateLimit): Gate {
  const { clock, onError, crashPoint } = deps;
  const table = createGateTable(deps.tables, name);
  /** Being started here. */
  const held = new Set<string>();
  /** Runs that were asked to end for another. */
  const asked = new Set<string>();
  let closed = false;
  let disarm: () => void = () => undefined;

  const standingOf = async (run: string): Promise<Standing> => {
    const info = await deps.info(run);
    if (info === undefined || info.head === 0) return 'missing';
    return hasEnded(info.status) ? 'over' : 'there';
  };
  const standings = async ({ under }: GateRow): Promise<ReadonlyMap<string, Standing>> => {
    const found = new Map<string, Standing>();
    for (let at = 0; at < under.length; at += LOOKS)
      await Promise.all(
        under.slice(at, at + LOOKS).map(async ({ run }) => found.set(run, await standingOf(run))),
      );
    return found;
  };

  /**
   * Starts a run that was let in. `onLog` is given the refusal where it is there already: whoever let it in first has
   * started it, and died before it could say so.
   */
  const begin = (
    { run }: LetIn,
    seen: JsonObject,
    onLog: (refused?: unknown) => void,
    onFailed: (thrown: unknown) => void,
  ) => {
    held.add(run);
    crashPoint?.('gate:let-in');
    const { run: live, made } = deps.start(run, seen);
    const ended = () => attempt(look);
    live.result.then(ended, ended);
    const there = (refused?: unknown) => {
      held.delete(run);
      onLog(refused);
      table.forget(run).catch(onError); // else its end does
    };
    made.then(
      () => there(),
      (thrown: unknown) => {
        if (toRuntimeError(thrown).code === 'stream_exists') there(thrown);
        else {
          held.delete(run);
          onFailed(thrown);
        }
      },
    );
  };
  const beginNow = ({ run, seen, over }: Entrant, row: GateRow): void => {
    const entered = letInOf(row, run);
    begin(entered, seen, over, (thrown) => {
      const left = table.change((now) => {
        const without = leaveGate(now, entered);
        return without && { row: without, forget: [run] };
      });
      // What stays behind is started by a look.
      left.catch(onError).finally(() => over(thrown));
    });
  };
  /** What waited, or what another left, waits on where it cannot be started. */
  const beginKept = async (run: string, row: GateRow): Promise<void> => {
    const entered = letInOf(row, run);
    const seen = await table.seen(run);
    const leave = (how: (without: GateRow) => GateRow) =>
      table.change((now) => {
        const without = leaveGate(now, entered);
        return without && { row: how(without) };
      });
    if (closed) return;
    if (seen === undefined) await leave((without) => without);
    else
      begin(
        entered,
        seen,
        () => undefined,
        (thrown) => {
          onError(thrown);
          attempt(async () => {
            await leave((without) => ({ ...without, queue: [run, ...without.queue] }));
            arm(RETRY_MS);
          });
        },
      );
  };
  const endOldest = ({ under, queue }: GateRow): void => {
    const oldest = under[0]?.run;
    if (limit.when_busy !== 'replace' || queue.length === 0 || under.length < limit.max) return;
    if (oldest === undefined || asked.has(oldest)) return;
    asked.add(oldest);
    deps.cancel(oldest, REPLACED).catch(() => asked.delete(oldest)); // it is not there yet: the next look asks again
  };

  /** Notes ends, lets in who waits, and starts what another let in and did not start. */
  const look = async (): Promise<void> => {
    if (closed) return;
    let known: GateRow | undefined;
    const looked = await table.change(async (row) => {
      known = row;
      if (closed) return undefined;
      const decided = lookThrough(row, await standings(row), held, clock.now(), limit.max);
      return decided && { ...decided, forget: decided.over };
    });
    const row = looked?.row ?? known;
    for (const run of looked?.over ?? []) asked.delete(run);
    if (row === undefined) return;
    for (const run of looked?.start ?? []) await beginKept(run, row);
    endOldest(row);
    arm(row.queue.length > 0 ? QUEUED_LOOK_MS : IDLE_LOOK_MS);
  };
  const arm = (ms: number): void => {
    disarm();
    if (!closed && limit.when_busy !== 'skip') disarm = clock.after(ms, () => attempt(look));
  };
  const attempt = (work: () => Promise<void>): void => {
    work().catch((thrown: unknown) => {
      if (closed) return;
      onError(thrown);
      arm(RETRY_MS);
    });
  };

  attempt(look);
  return {
    async enter(entrant) {
      const { run, seen } = entrant;
      const keep = { run, seen };
      const admit = (mayWait: boolean) =>
        table.change((row) => {
          const entry = enterGate(row, run, clock.now(), limit);
          if (entry.kind === 'busy' || (entry.kind === 'waiting' && !mayWait)) return undefined;
          return { ...entry, keep, ...(entry.kind === 'waiting' ? { forget: entry.dropped } : {}) };
        });
      let entry = await admit(false);
      if (entry === undefined) {
        await look();
        entry = await admit(true);
      }
      if (entry === undefined) {
        entrant.over();
        return { kind: 'suppressed', reason: 'busy' };
      }
      if (entry.kind === 'start') {
        beginNow(entrant, entry.row);
        return { kind: 'started', run };
      }
      entrant.over();
      endOldest(entry.row);
      arm(QUEUED_LOOK_MS);
      return { kind: 'waiting' };
    },
    close() {
      closed = true;
      disarm();
    },
  };
}

const letInOf = ({ under }: GateRow, run: string): LetIn =>
  under.find((each) => each.run === run) ?? { run, at: 0 };
