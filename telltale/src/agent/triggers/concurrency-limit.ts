import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store, Tables, TableWrite } from '../../store/store.ts';
import { triggersOf } from '../../triggers/compile-triggers.ts';
import { hasEnded } from '../ending/has-ended.ts';
import type { OutsideOutcome, WorkflowRun } from '../runs/run-types.ts';

/** A run that a trigger sets off: its id, and what it is started with. */
export interface PendingRun {
  readonly run: string;
  readonly seen: JsonObject;
  /** It is on its log, or waits in the store, or never will start; or what was thrown. Called once. */
  over(thrown?: unknown): void;
}

export interface ConcurrencyLimiterDeps {
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  readonly start: (run: string, seen: JsonObject) => StartingRun;
  /** Asks for the end of a run, wherever it is worked on. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** `concurrency` of a trigger, over all processes of a store, and through restarts. */
export interface ConcurrencyLimiter {
  enter(entrant: PendingRun): Promise<OutsideOutcome>;
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
export function createConcurrencyLimiter(
  deps: ConcurrencyLimiterDeps,
  name: string,
  limit: ConcurrencyLimit,
): ConcurrencyLimiter {
  const { clock, onError, crashPoint } = deps;
  const table = createLimitTable(deps.tables, name);
  /** Being started here. */
  const held = new Set<string>();
  /** Runs that were asked to end for another. */
  const asked = new Set<string>();
  let closed = false;
  let disarm: () => void = () => undefined;

  const presenceOf = async (run: string): Promise<RunPresence> => {
    const info = await deps.info(run);
    if (info === undefined || info.head === 0) return 'missing';
    return hasEnded(info.status) ? 'over' : 'there';
  };
  const presences = async ({ under }: LimitRow): Promise<ReadonlyMap<string, RunPresence>> => {
    const found = new Map<string, RunPresence>();
    for (let at = 0; at < under.length; at += LOOKS)
      await Promise.all(
        under.slice(at, at + LOOKS).map(async ({ run }) => found.set(run, await presenceOf(run))),
      );
    return found;
  };

  /**
   * Starts a run that was let in. `onLog` is given the refusal where it is there already: whoever let it in first has
   * started it, and died before it could say so.
   */
  const begin = (
    { run }: AdmittedRun,
    seen: JsonObject,
    onLog: (refused?: unknown) => void,
    onFailed: (thrown: unknown) => void,
  ) => {
    held.add(run);
    crashPoint?.('gate:let-in');
    const { run: live, created } = deps.start(run, seen);
    const ended = () => attempt(look);
    live.result.then(ended, ended);
    const there = (refused?: unknown) => {
      held.delete(run);
      onLog(refused);
      table.forget(run).catch(onError); // else its end does
    };
    created.then(
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
  const beginNow = ({ run, seen, over }: PendingRun, row: LimitRow): void => {
    const entered = letInOf(row, run);
    begin(entered, seen, over, (thrown) => {
      const left = table.change((now) => {
        const without = withdrawRun(now, entered);
        return without && { row: without, forget: [run] };
      });
      // What stays behind is started by a look.
      left.catch(onError).finally(() => over(thrown));
    });
  };
  /** What waited, or what another left, waits on where it cannot be started. */
  const beginKept = async (run: string, row: LimitRow): Promise<void> => {
    const entered = letInOf(row, run);
    const seen = await table.seen(run);
    const leave = (how: (without: LimitRow) => LimitRow) =>
      table.change((now) => {
        const without = withdrawRun(now, entered);
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
  const endOldest = ({ under, queue }: LimitRow): void => {
    const oldest = under[0]?.run;
    if (limit.when_busy !== 'replace' || queue.length === 0 || under.length < limit.max) return;
    if (oldest === undefined || asked.has(oldest)) return;
    asked.add(oldest);
    deps.cancel(oldest, REPLACED).catch(() => asked.delete(oldest)); // it is not there yet: the next look asks again
  };

  /** Notes ends, lets in who waits, and starts what another let in and did not start. */
  const look = async (): Promise<void> => {
    if (closed) return;
    let known: LimitRow | undefined;
    const looked = await table.change(async (row) => {
      known = row;
      if (closed) return undefined;
      const decided = advanceRow(row, await presences(row), held, clock.now(), limit.max);
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
          const entry = admitRun(row, run, clock.now(), limit);
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

const letInOf = ({ under }: LimitRow, run: string): AdmittedRun =>
  under.find((each) => each.run === run) ?? { run, at: 0 };

export const LIMITS_TABLE = 'gates';
/** What runs are started with that are not on their logs yet: each may hold a megabyte. */
const SEEN = 'gates_seen';
/** Others change a row when a run comes, begins or ends. */
const MAX_TRIES = 100;

export interface LimitTable {
  read(): Promise<LimitRow>;
  seen(run: string): Promise<JsonObject | undefined>;
  /** It is on its log. */
  forget(run: string): Promise<void>;
  /** Writes what `decide` makes of the row, unless that is undefined; decides again where another was quicker. */
  change<Decided extends LimitChange>(
    decide: (row: LimitRow) => Decided | undefined | Promise<Decided | undefined>,
  ): Promise<Decided | undefined>;
}

export interface LimitChange {
  readonly row: LimitRow;
  /** What a run is to be started with. */
  readonly keep?: { readonly run: string; readonly seen: JsonObject } | undefined;
  readonly forget?: readonly string[];
}

/** The row of one trigger. Changes of this process are made one after the other. */
export function createLimitTable(tables: Tables, name: string): LimitTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // whoever asked hears of it
    return done;
  };
  const is = { table: LIMITS_TABLE, key: name };
  const seenOf = (run: string) => ({ table: SEEN, key: `${name}/${run}` });
  return {
    read: async () => readLimitRow(await tables.get(LIMITS_TABLE, name)),
    async seen(run) {
      const value = await tables.get(SEEN, seenOf(run).key);
      return isJsonObject(value) ? value : undefined;
    },
    async forget(run) {
      await tables.delete(SEEN, seenOf(run).key);
    },
    change: (decide) =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const found = await tables.get(LIMITS_TABLE, name);
          const decided = await decide(readLimitRow(found));
          if (decided === undefined) return undefined;
          const { row, keep, forget = [] } = decided;
          const writes: TableWrite[] = [
            { ...is, value: row as unknown as Json },
            ...forget.map((run) => ({ ...seenOf(run), value: undefined })),
            ...(keep === undefined ? [] : [{ ...seenOf(keep.run), value: keep.seen }]),
          ];
          if (await tables.exchange([{ ...is, value: found }], writes)) return decided;
        }
        throw limitContended(name);
      }),
  };
}

const limitContended = (name: string) =>
  new RuntimeError(
    'trigger_contended',
    `Others changed what is known of the runs of "${name}" ${MAX_TRIES} times while one was to be let in.`,
    { hint: 'Send it again. How many processes listen on this store?', retryable: true },
  );

/** What the store knows of the runs of one trigger, over all processes. */
export interface LimitRow {
  /** Runs that were let in, oldest first; those that have ended stand here until somebody looks. */
  readonly under: readonly AdmittedRun[];
  /** Runs that wait for one of them to end, oldest first. */
  readonly queue: readonly string[];
  /** Of runs that were started by hand: those that never will have a turn and have not ended yet. */
  readonly dropped?: readonly string[];
  /** And how many may be under way, for whoever ends a run and does not know its workflow. */
  readonly max?: number;
}

export interface AdmittedRun {
  readonly run: string;
  /** When it was let in. */
  readonly at: number;
}

/** `concurrency` of a trigger. */
export interface ConcurrencyLimit {
  readonly max: number;
  readonly when_busy: 'skip' | 'queue' | 'replace';
}

const EMPTY_ROW: LimitRow = { under: [], queue: [] };

/** Runs of one trigger that wait for others to end. */
const MAX_QUEUED = 1_000;
/** How long whoever let a run in has for starting it before another takes it to be dead, and starts it. */
const LET_IN_MS = 30_000;

export type LimitAdmission =
  | { readonly kind: 'start'; readonly row: LimitRow }
  /** `dropped`: those that waited and never will start. */
  | { readonly kind: 'waiting'; readonly row: LimitRow; readonly dropped: readonly string[] }
  | { readonly kind: 'busy' };

/** A run comes to the gate. One that has been here before, and whose process died, goes where it stood. */
function admitRun(
  row: LimitRow,
  run: string,
  now: number,
  { max, when_busy }: ConcurrencyLimit,
): LimitAdmission {
  const { under, queue } = row;
  if (under.some((each) => each.run === run))
    return { kind: 'start', row: { ...row, under: letIn(without(under, run), run, now) } };
  if (queue.includes(run)) return { kind: 'waiting', row, dropped: [] };
  if (hasRoom(row, max)) return { kind: 'start', row: { ...row, under: letIn(under, run, now) } };
  switch (when_busy) {
    case 'skip':
      return { kind: 'busy' };
    case 'queue':
      if (queue.length >= MAX_QUEUED) return { kind: 'busy' };
      return { kind: 'waiting', row: { ...row, queue: [...queue, run] }, dropped: [] };
    case 'replace':
      return { kind: 'waiting', row: { ...row, queue: [run] }, dropped: queue };
  }
}

/** Who waits goes before who comes. */
const hasRoom = ({ under, queue }: LimitRow, max: number): boolean =>
  under.length < max && queue.length === 0;

/** What became of a run that was let in. `missing`: it is on no log. */
export type RunPresence = 'there' | 'over' | 'missing';

export interface AdvancedRow {
  readonly row: LimitRow;
  /** To be started: their turn has come, or whoever let them in has not done it. */
  readonly start: readonly string[];
  /** Those that have ended. */
  readonly over: readonly string[];
}

/** Lets in whose turn has come; undefined where nothing changes. `held`: those that are being started here. */
function advanceRow(
  row: LimitRow,
  standing: ReadonlyMap<string, RunPresence>,
  held: ReadonlySet<string>,
  now: number,
  max: number,
): AdvancedRow | undefined {
  const over = row.under.flatMap(({ run }) => (standing.get(run) === 'over' ? [run] : []));
  const left = row.under.flatMap(({ run, at }) =>
    standing.get(run) === 'missing' && !held.has(run) && at + LET_IN_MS <= now ? [run] : [],
  );
  const still = row.under.filter(({ run }) => !over.includes(run));
  const next = row.queue.slice(0, Math.max(0, max - still.length));
  if (over.length === 0 && left.length === 0 && next.length === 0) return undefined;
  const renewed = still.map((each) => (left.includes(each.run) ? { ...each, at: now } : each));
  return {
    row: {
      under: [...renewed, ...next.map((run) => ({ run, at: now }))],
      queue: row.queue.slice(next.length),
    },
    start: [...left, ...next],
    over,
  };
}

/** It could not be started by who let it in then: undefined where another has let it in since, whose word it is now. */
function withdrawRun(row: LimitRow, { run, at }: AdmittedRun): LimitRow | undefined {
  if (!row.under.some((each) => each.run === run && each.at === at)) return undefined;
  return { ...row, under: without(row.under, run) };
}

const letIn = (under: readonly AdmittedRun[], run: string, at: number): readonly AdmittedRun[] => [
  ...under,
  { run, at },
];

const without = (under: readonly AdmittedRun[], run: string): readonly AdmittedRun[] =>
  under.filter((each) => each.run !== run);

/** An empty one where it is none. */
export function readLimitRow(value: Json | undefined): LimitRow {
  if (!isJsonObject(value)) return EMPTY_ROW;
  if (!Array.isArray(value.under) || !Array.isArray(value.queue)) return EMPTY_ROW;
  return value as unknown as LimitRow;
}

/** `concurrency` of a manual trigger, and the name under which the store counts the runs. */
export interface ManualLimit {
  readonly name: string;
  readonly workflow: string;
  readonly limit: ConcurrencyLimit;
}

export const manualLimitName = (agent: string, workflow: string): string => `by hand ${agent}:${workflow}`;

/** The gate of a run that somebody asked for: undefined where nobody did, or where any number may be under way. */
export function manualLimit(
  workflow: WorkflowManifest,
  agent: string,
  { trigger, parent, leads, session, action }: Omit<RunOrigin, 'chain' | 'agents'> = {},
): ManualLimit | undefined {
  // What a session calls without an action is a feed.
  if (trigger !== undefined || parent !== undefined || leads === true) return undefined;
  if (session !== undefined && action === undefined) return undefined;
  for (const { manifest } of triggersOf(workflow))
    if (manifest.type === 'manual' && manifest.concurrency !== undefined)
      return {
        name: manualLimitName(agent, workflow.name),
        workflow: workflow.name,
        limit: manifest.concurrency,
      };
  return undefined;
}

/** A run that was begun: `made` settles once it is on its log, and rejects with `stream_exists` where it was before. */
export interface StartingRun {
  readonly run: WorkflowRun;
  readonly created: Promise<void>;
}
