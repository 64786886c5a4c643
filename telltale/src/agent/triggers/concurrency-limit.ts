import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store, Tables, TableWrite } from '../../store/store.ts';
import { triggersOf } from '../../triggers/compile-triggers.ts';
import { hasEnded } from '../ending/has-ended.ts';
import type { OutsideOutcome, WorkflowRun } from '../runs/run-types.ts';

/** A run that a trigger starts: its id, and the data that it starts with. */
export interface PendingRun {
  readonly run: string;
  readonly seen: JsonObject;
  /** Called once: when the run is on its log, is queued in the store or will not start, or with an error. */
  over(thrown?: unknown): void;
}

export interface ConcurrencyLimiterDeps {
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  readonly start: (run: string, seen: JsonObject) => StartingRun;
  /** Cancels a run, whichever process works on it. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** Enforces `concurrency` of a trigger over all processes of a store, also after restarts. */
export interface ConcurrencyLimiter {
  enter(entrant: PendingRun): Promise<OutsideOutcome>;
  close(): void;
}

/** Runs that are checked in parallel. */
const LOOKS = 32;
/** How often to check for ended runs of other processes while runs are queued. */
const QUEUED_LOOK_MS = 2_000;
/** How often to check for runs that a dead process left in the queue. */
const IDLE_LOOK_MS = 30_000;
/** When to try again after an error of the store. */
const RETRY_MS = 10_000;

const REPLACED = 'Its trigger came again, and says when_busy: replace.';

/**
 * A run is admitted in the store first, together with its input. Its id is derived from what triggered it, so
 * that no other process starts it twice, and a run that takes long to start is still counted. There are never
 * more than `max` runs, and no queued run is lost with its process.
 */
export function createConcurrencyLimiter(
  deps: ConcurrencyLimiterDeps,
  name: string,
  limit: ConcurrencyLimit,
): ConcurrencyLimiter {
  const { clock, onError, crashPoint } = deps;
  const table = createLimitTable(deps.tables, name);
  /** Runs that this process is starting. */
  const held = new Set<string>();
  /** Runs that were cancelled to make room for another. */
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
   * Starts an admitted run. `onLog` gets the refusal if the run exists already, because the process that
   * admitted it died after it had started the run.
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
      table.forget(run).catch(onError); // otherwise the end of the run removes it
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
      // If the entry stays in the row, a later check starts the run.
      left.catch(onError).finally(() => over(thrown));
    });
  };
  /**
   * Starts a queued run, or one that another process admitted and did not start. It is queued again if that
   * fails.
   */
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
    deps.cancel(oldest, REPLACED).catch(() => asked.delete(oldest)); // the run does not exist yet, so the next check tries again
  };

  /**
   * Removes ended runs, admits queued ones, and starts those that another process admitted and did not start.
   */
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
/** The inputs of runs that are not on their logs yet. Each may hold a megabyte. */
const SEEN = 'gates_seen';
/** Other processes change the row when a run arrives, starts or ends. */
const MAX_TRIES = 100;

export interface LimitTable {
  read(): Promise<LimitRow>;
  seen(run: string): Promise<JsonObject | undefined>;
  /** Deletes the input of a run that is on its log. */
  forget(run: string): Promise<void>;
  /**
   * Writes the row that `decide` returns, unless that is undefined. Decides again if another process changed
   * the row first.
   */
  change<Decided extends LimitChange>(
    decide: (row: LimitRow) => Decided | undefined | Promise<Decided | undefined>,
  ): Promise<Decided | undefined>;
}

export interface LimitChange {
  readonly row: LimitRow;
  /** The input of a run. */
  readonly keep?: { readonly run: string; readonly seen: JsonObject } | undefined;
  readonly forget?: readonly string[];
}

/** The row of one trigger. This process makes its changes one after the other. */
export function createLimitTable(tables: Tables, name: string): LimitTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // the caller gets the error
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

/** What the store knows about the runs of one trigger, over all processes. */
export interface LimitRow {
  /** Admitted runs, oldest first. Ended runs stay here until the next check. */
  readonly under: readonly AdmittedRun[];
  /** Queued runs, oldest first. */
  readonly queue: readonly string[];
  /** Runs of manual triggers that were replaced while queued and have not ended yet. */
  readonly dropped?: readonly string[];
  /** The limit of a manual trigger, for a process that ends a run without knowing its workflow. */
  readonly max?: number;
}

export interface AdmittedRun {
  readonly run: string;
  /** When it was admitted. */
  readonly at: number;
}

/** `concurrency` of a trigger. */
export interface ConcurrencyLimit {
  readonly max: number;
  readonly when_busy: 'skip' | 'queue' | 'replace';
}

const EMPTY_ROW: LimitRow = { under: [], queue: [] };

/** The maximum length of the queue of one trigger. */
const MAX_QUEUED = 1_000;
/** How long the process that admitted a run has for starting it. After that another process takes over. */
const LET_IN_MS = 30_000;

export type LimitAdmission =
  | { readonly kind: 'start'; readonly row: LimitRow }
  /** `dropped`: queued runs that will never start. */
  | { readonly kind: 'waiting'; readonly row: LimitRow; readonly dropped: readonly string[] }
  | { readonly kind: 'busy' };

/** Admits or queues a run. A run whose process died keeps its place. */
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

/** Queued runs go before new ones. */
const hasRoom = ({ under, queue }: LimitRow, max: number): boolean =>
  under.length < max && queue.length === 0;

/**
 * What the store knows of an admitted run. `there`: it is running. `over`: it has ended. `missing`: it has no
 * log.
 */
export type RunPresence = 'there' | 'over' | 'missing';

export interface AdvancedRow {
  readonly row: LimitRow;
  /** Runs to start: newly admitted, or admitted by a process that did not start them. */
  readonly start: readonly string[];
  /** Ended runs. */
  readonly over: readonly string[];
}

/**
 * Removes ended runs and admits queued ones. Undefined if nothing changes. `held`: runs that this process is
 * starting.
 */
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

/**
 * Removes a run that could not be started. Undefined if another process has admitted it since and is
 * responsible for it.
 */
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

/** An empty row if the value is not one. */
export function readLimitRow(value: Json | undefined): LimitRow {
  if (!isJsonObject(value)) return EMPTY_ROW;
  if (!Array.isArray(value.under) || !Array.isArray(value.queue)) return EMPTY_ROW;
  return value as unknown as LimitRow;
}

/** `concurrency` of a manual trigger, and the name of its row in the store. */
export interface ManualLimit {
  readonly name: string;
  readonly workflow: string;
  readonly limit: ConcurrencyLimit;
}

export const manualLimitName = (agent: string, workflow: string): string => `by hand ${agent}:${workflow}`;

/**
 * The limit of a run that a person, a program or an action starts. Undefined for other runs, and without a
 * limit.
 */
export function manualLimit(
  workflow: WorkflowManifest,
  agent: string,
  { trigger, parent, leads, session, action }: Omit<RunOrigin, 'chain' | 'agents'> = {},
): ManualLimit | undefined {
  // A call of a session without an action comes from a feed.
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

/**
 * A run that is being started. `created` settles once it is on its log, and rejects with `stream_exists` if
 * it was there before.
 */
export interface StartingRun {
  readonly run: WorkflowRun;
  readonly created: Promise<void>;
}
