import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Store, Tables } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { RUN_TURN } from '../runs/run-messages.ts';
import {
  type AdmittedRun,
  type ConcurrencyLimit,
  createLimitTable,
  LIMITS_TABLE,
  type LimitRow,
  type LimitTable,
  type ManualLimit,
  type RunPresence,
  readLimitRow,
} from './concurrency-limit.ts';
import type { DeadlockLink } from './find-deadlock.ts';

/** Rows that are searched. There is one for each workflow with a limit on manual runs. */
const MAX_ROWS = 10_000;

/** Wakes a queued run. Whichever process watches or finds it continues it. */
export const wakeQueuedRun = (store: Store) => async (run: string) =>
  void (await store.send(run, { kind: RUN_TURN, from: 'runtime', body: null }));

/** Removes an ended run from its queue without knowing its workflow. */
export async function leaveRunQueues(store: Store, clock: Pick<Clock, 'now'>, run: string): Promise<void> {
  const { tables, info } = store;
  const wake = wakeQueuedRun(store);
  for (const name of await tables.keys(LIMITS_TABLE, { prefix: 'by hand ', limit: MAX_ROWS })) {
    const { max } = readLimitRow(await tables.get(LIMITS_TABLE, name));
    const deps = { clock, info, wake, onError: () => undefined }; // queued runs also check by themselves
    if (max !== undefined && (await leaveTable(deps, createLimitTable(tables, name), run, max))) return;
  }
}

export interface RunQueueDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly tables: Tables;
  readonly info: Store['info'];
  /** Cancels a run, whichever process works on it. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  /** Wakes a queued run, wherever it is. */
  readonly wake: (run: string) => Promise<void>;
  /** Whether a run waits for runs that wait for it. See `findDeadlock`. */
  readonly deadlock: (run: string, under: readonly string[]) => Promise<readonly DeadlockLink[] | undefined>;
  readonly onError: (thrown: unknown) => void;
}

/**
 * Enforces `concurrency` of manual triggers over all processes of a store. The store counts the runs of each
 * trigger until they have ended. A queued run is on its log, waits like any other run, and is woken when its
 * turn comes. The process that should wake it may die, so it also checks by itself now and then.
 */
export interface RunQueue {
  /**
   * Call it before a run is created. Throws `workflow_busy` if the run may neither start nor wait. `above` is
   * the session that starts it, whose own runs it cannot wait for.
   */
  reserve(gate: ManualLimit, run: string, above: string | undefined): Promise<void>;
  /** Decides whether a run on its log may continue, has to wait for another run, or was replaced by one. */
  enter(gate: ManualLimit, run: string, above: string | undefined): Promise<QueueResult>;
  /** Removes a run that has ended or could not be created. */
  leave(gate: ManualLimit, run: string): Promise<void>;
}

export type QueueResult =
  | { readonly kind: 'in' }
  | { readonly kind: 'waits'; readonly behind: string }
  /** It would wait forever. */
  | { readonly kind: 'stuck'; readonly error: RuntimeError }
  | { readonly kind: 'dropped' };

/** How many ancestors are checked. */
const MAX_ABOVE = 100;
/** Runs that are checked in parallel. */
const LOOKS = 32;

export const REPLACED = 'It was started again by hand, and its trigger says when_busy: replace.';

export function createRunQueue(deps: RunQueueDeps): RunQueue {
  const { clock, info, onError } = deps;
  const presencesOf = lookForEnds(info);
  /** One table object per row, so that this process changes a row one step at a time. */
  const tables = new Map<string, { readonly table: LimitTable; users: number }>();

  const within = async <T>(name: string, work: (table: LimitTable) => Promise<T>): Promise<T> => {
    const used = tables.get(name) ?? { table: createLimitTable(deps.tables, name), users: 0 };
    tables.set(name, used);
    used.users++;
    try {
      return await work(used.table);
    } finally {
      if (--used.users === 0) tables.delete(name);
    }
  };
  /** Updates the row with ended runs, applies `decide`, and wakes runs whose turn has come. */
  const change = async (
    table: LimitTable,
    { limit }: ManualLimit,
    decide: (row: LimitRow) => LimitRow | Promise<LimitRow>,
    run?: string,
  ): Promise<void> => {
    let next: readonly string[] = [];
    await table.change(async (found) => {
      const passed = await admitNext(found, presencesOf, clock.now(), limit.max);
      next = passed.next;
      const row = await decide(passed.row);
      return row === found ? undefined : { row: { ...row, max: limit.max } };
    });
    for (const each of next) if (each !== run) deps.wake(each).catch(onError);
  };
  const stillThere = async (runs: readonly string[]): Promise<readonly string[]> => {
    const presences = await presencesOf(runs);
    return runs.filter((_, at) => presences[at] === 'there');
  };
  const runsAbove = async (above: string | undefined): Promise<ReadonlySet<string>> => {
    const all = new Set<string>();
    for (let stream = above; stream !== undefined && all.size < MAX_ABOVE; ) {
      all.add(stream);
      stream = (await info(stream))?.parent;
    }
    return all;
  };

  return {
    reserve: (gate, run, above) =>
      within(gate.name, async (table) => {
        const { limit } = gate;
        let refusal: (() => Error) | undefined;
        await change(table, gate, async (row) => {
          refusal = undefined;
          const under = row.under.map((each) => each.run);
          if (limit.when_busy !== 'skip' && above !== undefined && under.length >= limit.max) {
            const all = await runsAbove(above);
            if (under.every((each) => all.has(each))) refusal = () => waitsForItself(gate, under[0] ?? '');
          }
          const answer = reserveRow(row, run, clock.now(), limit);
          if (answer.kind === 'busy') refusal = () => workflowBusy(gate, under);
          return answer.kind === 'in' ? answer.row : row;
        });
        if (refusal !== undefined) throw refusal();
      }),
    enter: (gate, run, above) =>
      within(gate.name, async (table) => {
        let taken: QueueResult = { kind: 'in' };
        let ending: readonly string[] = [];
        let under: readonly string[] = [];
        const decide = async (row: LimitRow): Promise<LimitRow> => {
          const turn = enterRow(row, run, clock.now(), gate.limit);
          const [oldest] = turn.row.under;
          under = turn.kind === 'waits' ? turn.row.under.map((each) => each.run) : [];
          taken = turn.kind === 'waits' ? { kind: 'waits', behind: oldest?.run ?? '' } : { kind: turn.kind };
          ending = [];
          if (turn.kind !== 'waits' || gate.limit.when_busy !== 'replace') return turn.row;
          const all = await runsAbove(above);
          const other = turn.row.under.find((each) => !all.has(each.run));
          const dropped = await stillThere(turn.row.dropped ?? []);
          ending = [...dropped, ...(other === undefined ? [] : [other.run])];
          return dropped.length === (turn.row.dropped ?? []).length ? turn.row : { ...turn.row, dropped };
        };
        await change(table, gate, decide, run);
        for (const each of ending) deps.cancel(each, REPLACED).catch(onError);
        if (above === undefined || under.length === 0 || gate.limit.when_busy !== 'queue') return taken;
        // If a log cannot be read, the run waits and checks again.
        const deadlock = await deps.deadlock(run, under).catch((thrown: unknown) => void onError(thrown));
        return deadlock === undefined
          ? taken
          : { kind: 'stuck', error: deadlocked(gate, run, under, deadlock) };
      }),
    leave: (gate, run) =>
      within(gate.name, (table) => leaveTable(deps, table, run, gate.limit.max).then(() => undefined)),
  };
}

/** Removes a run from a row and wakes runs whose turn has come. Returns false if the row does not have it. */
async function leaveTable(
  { clock, info, wake, onError }: Omit<RunQueueDeps, 'tables' | 'cancel' | 'deadlock'>,
  table: LimitTable,
  run: string,
  max: number,
): Promise<boolean> {
  const presencesOf = lookForEnds(info);
  let next: readonly string[] = [];
  const left = await table.change(async (found) => {
    if (!knows(found, run)) return undefined;
    const passed = await admitNext(leaveRow(found, run), presencesOf, clock.now(), max);
    next = passed.next;
    return passed;
  });
  for (const each of next) wake(each).catch(onError);
  return left !== undefined;
}

const knows = (row: LimitRow, run: string): boolean =>
  isIn(row, run) || row.queue.includes(run) || row.dropped?.includes(run) === true;

const lookForEnds =
  (info: Store['info']) =>
  async (runs: readonly string[]): Promise<readonly RunPresence[]> => {
    const found: RunPresence[] = [];
    for (let at = 0; at < runs.length; at += LOOKS)
      found.push(...(await Promise.all(runs.slice(at, at + LOOKS).map((run) => presenceOf(info, run)))));
    return found;
  };

async function presenceOf(info: Store['info'], run: string): Promise<RunPresence> {
  const found = await info(run);
  if (found === undefined || found.head === 0) return 'missing';
  return hasEnded(found.status) ? 'over' : 'there';
}

/** How many runs an error names. */
const MAX_NAMED = 3;

function workflowBusy(
  { workflow, limit: { max, when_busy } }: ManualLimit,
  under: readonly string[],
): RuntimeError {
  const which = `${under.slice(0, MAX_NAMED).join(', ')}${under.length > MAX_NAMED ? ', …' : ''}`;
  if (when_busy !== 'skip')
    return new RuntimeError(
      'workflow_busy',
      `Too many runs of the workflow "${workflow}" are waiting to start.`,
      { hint: `Wait until one has started. Running now: ${which}.`, retryable: true },
    );
  return new RuntimeError(
    'workflow_busy',
    `The workflow "${workflow}" is already running, and its manual trigger allows ${max} at a time: ${which}.`,
    {
      hint: `Try again when it has ended, or cancel it: telltale cancel ${under[0] ?? 'RUN'}. With "when_busy: queue" a new run waits, with "replace" it replaces the old one.`,
      retryable: true,
    },
  );
}

const waitsForItself = ({ workflow }: ManualLimit, holder: string) =>
  new RuntimeError(
    'workflow_busy',
    `The workflow "${workflow}" would wait for its own run ${holder}, from which it was called.`,
    { hint: 'Raise "max" of its manual trigger\'s concurrency, or call it by a step of type workflow.' },
  );

function deadlocked(
  { workflow }: ManualLimit,
  run: string,
  under: readonly string[],
  deadlock: readonly DeadlockLink[],
): RuntimeError {
  const waits = deadlock.slice(0, MAX_NAMED).map(({ holder, waits }) => `${holder} waits for ${waits}`);
  return new RuntimeError(
    'workflow_deadlock',
    `The run ${run} of "${workflow}" would wait for ever: its turn comes behind ${under[0] ?? 'another'}; ${waits.join('; ')}, whose turn comes when what called ${run} has ended.`,
    {
      hint: 'Raise "max" of the concurrency of one of their manual triggers, let one say "when_busy: skip", or call the other by a step of type workflow.',
    },
  );
}

/** The maximum number of queued runs of one trigger, and of replaced ones. */
const MAX_WAITING = 1_000;
/** How long an admitted run may have no log before its process is considered dead. */
const MAKING_MS = 30_000;

export type ReserveResult =
  | { readonly kind: 'in'; readonly row: LimitRow }
  /** The run is created and enters the queue itself. */
  | { readonly kind: 'may wait' }
  | { readonly kind: 'busy' };

/** Reserves a place for a run that is not on its log yet. A run that may not wait is counted from here on. */
function reserveRow(
  row: LimitRow,
  run: string,
  now: number,
  { max, when_busy }: ConcurrencyLimit,
): ReserveResult {
  if (isIn(row, run)) return { kind: 'in', row };
  if (when_busy !== 'skip') return { kind: row.queue.length < MAX_WAITING ? 'may wait' : 'busy' };
  return hasRoom(row, max) ? { kind: 'in', row: letIn(row, run, now) } : { kind: 'busy' };
}

export type EnterResult =
  | { readonly kind: 'in'; readonly row: LimitRow }
  | { readonly kind: 'waits'; readonly row: LimitRow }
  /** Another run has replaced it, so it has to end. */
  | { readonly kind: 'dropped'; readonly row: LimitRow };

/** Admits or queues a run that is on its log. */
function enterRow(
  row: LimitRow,
  run: string,
  now: number,
  { max, when_busy }: ConcurrencyLimit,
): EnterResult {
  const { queue, dropped = [] } = row;
  if (isIn(row, run)) return { kind: 'in', row };
  if (dropped.includes(run)) return { kind: 'dropped', row };
  if (hasRoom(row, max)) return { kind: 'in', row: letIn(row, run, now) };
  if (queue.includes(run)) return { kind: 'waits', row };
  if (when_busy === 'replace') {
    const all = [...dropped, ...queue].slice(-MAX_WAITING);
    return { kind: 'waits', row: { ...row, queue: [run], dropped: all } };
  }
  return { kind: 'waits', row: { ...row, queue: [...queue, run] } };
}

export interface Passed {
  readonly row: LimitRow;
  /** Runs whose turn has come. */
  readonly next: readonly string[];
}

/** Admits queued runs. If there is no room, runs that have ended or were never created are removed first. */
async function admitNext(
  row: LimitRow,
  presencesOf: (runs: readonly string[]) => Promise<readonly RunPresence[]>,
  now: number,
  max: number,
): Promise<Passed> {
  const { queue } = row;
  let { under } = row;
  if (under.length >= max) {
    const presences = await presencesOf(under.map(({ run }) => run));
    const still = under.filter((each, at) => isUnder(each, presences[at], now));
    if (still.length < under.length) under = still; // otherwise the row is unchanged and not written
  }
  const next: string[] = [];
  let at = 0;
  while (at < queue.length && under.length + next.length < max) {
    const some = queue.slice(at, at + max - under.length - next.length);
    const presences = await presencesOf(some);
    next.push(...some.filter((_, place) => presences[place] === 'there'));
    at += some.length;
  }
  if (under === row.under && at === 0) return { row, next };
  return {
    row: { ...row, under: [...under, ...next.map((run) => ({ run, at: now }))], queue: queue.slice(at) },
    next,
  };
}

const isUnder = ({ at }: AdmittedRun, standing: RunPresence | undefined, now: number): boolean =>
  standing === 'there' || (standing === 'missing' && at + MAKING_MS > now);

const leaveRow = ({ under, queue, dropped = [], ...rest }: LimitRow, run: string): LimitRow => ({
  ...rest,
  under: under.filter((each) => each.run !== run),
  queue: queue.filter((each) => each !== run),
  dropped: dropped.filter((each) => each !== run),
});

const isIn = ({ under }: LimitRow, run: string): boolean => under.some((each) => each.run === run);

/** Who waits goes before who comes. */
const hasRoom = ({ under, queue }: LimitRow, max: number): boolean =>
  under.length < max && queue.length === 0;

const letIn = (row: LimitRow, run: string, at: number): LimitRow => ({
  ...row,
  under: [...row.under, { run, at }],
});
