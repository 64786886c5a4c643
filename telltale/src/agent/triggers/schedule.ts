import type { Engine, Schedule } from '../../engine/engine.ts';
import { type Dues, openTimetable, type Timetable } from '../../engine/timetable.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import type { Tables } from '../../store/store.ts';
import type { MissedPolicy, OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { DueTime, OutsideOutcome } from '../runs/run-types.ts';

export interface ScheduleDeps {
  readonly engine: Pick<Engine, 'schedule'>;
  readonly tables: Tables;
  readonly clock: Clock;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

export interface ScheduleOptions {
  readonly name: string;
  readonly trigger: Extract<OutsideTrigger, { readonly type: 'schedule' }>;
  /**
   * Starts the run of a time, or says why not. `over` is called when the run is on its log or will never be,
   * or with an error.
   */
  readonly fire: (due: DueTime, over: (thrown?: unknown) => void) => Promise<OutsideOutcome>;
  readonly onDue: (outcome: OutsideOutcome, due: DueTime) => void;
}

/** When to try again after an error of the store. */
const RETRY_MS = 10_000;

/**
 * Starts a run for each time of a schedule, once over all processes of a store, even if processes die. A time
 * is claimed in the store first, and an unfinished claim can be taken over after a while. The run's id is
 * derived from the time, so that its log refuses a second run. Returns a function that stops the schedule.
 */
export function runSchedule(deps: ScheduleDeps, kept: ScheduleOptions): () => void {
  const { engine, tables, clock, crashPoint, onError } = deps;
  const { name, trigger, fire, onDue } = kept;
  const { debounceMs = 0, delayMs = 0 } = trigger.pacing;
  const claimMs = CLAIM_MS + debounceMs + delayMs;
  const spec = JSON.stringify(trigger.schedule);
  const table = createScheduleTable(tables, name);
  const held = new Set<number>();
  let timetable: Timetable | undefined;
  let origin = 0;
  /** The last time up to which this process has claimed times. */
  let claimed = 0;
  /** The timetable of another process that has restarted the schedule with other times. */
  let others: { readonly of: string; readonly timetable: Timetable } | undefined;
  let closed = false;
  let stopClaimCheck: () => void = () => undefined;
  let endSchedule: () => void = () => undefined;
  const retries = new Set<() => void>();

  const attempt = (work: () => Promise<void>) => {
    work().catch((thrown) => {
      if (closed) return;
      onError(thrown);
      if (toRuntimeError(thrown).code === 'schedule_malformed') return;
      const cancel = clock.after(RETRY_MS, () => {
        retries.delete(cancel);
        attempt(work);
      });
      retries.add(cancel);
    });
  };

  const begin = async () => {
    const now = clock.now();
    const begun = await table.change((row) =>
      row?.spec === spec && !isOfWrongClock(row, now) ? undefined : { row: beginRow(spec, now, row) },
    );
    const row = begun?.row ?? (await table.read());
    if (row === undefined || closed) return;
    origin = row.origin;
    const schedule: Schedule =
      'everyMs' in trigger.schedule ? { ...trigger.schedule, from: origin } : trigger.schedule;
    timetable = await openTimetable(name, schedule);
    if (closed) return;
    endSchedule();
    endSchedule = engine.schedule(name, schedule, () => attempt(look));
    attempt(look);
  };

  const decide = (row: ScheduleRow | undefined): Claims | undefined => {
    if (row === undefined || timetable === undefined || closed) return undefined;
    const now = clock.now();
    const isOurs = row.spec === spec;
    // Another process has restarted the schedule with other times. They count as long as somebody works on
    // them.
    if (!isOurs && !(others?.of === keyOf(row) && isAbandoned(row, others.timetable, now))) return undefined;
    const counts = isOurs && !isOfWrongClock(row, now);
    const counted = counts ? row : renewRow(row, { spec, origin, last: claimed }, now, timetable);
    const dues = timetable.between(counted.last, now);
    return decideClaims({ row: counted, now, dues, missed: trigger.missed, held, claimMs });
  };

  const look = async () => {
    let claimCheck: number | undefined;
    let isMoved = false;
    let foreign: ScheduleRow | undefined;
    const claims = await table.change((row) => {
      isMoved = row?.spec === spec && row.origin !== origin && 'everyMs' in trigger.schedule;
      if (isMoved) return undefined;
      foreign = row !== undefined && row.spec !== spec && others?.of !== keyOf(row) ? row : undefined;
      const decided = decide(row);
      claimCheck = row === undefined ? undefined : nextClaimCheck(decided?.row ?? row, held, claimMs);
      return decided;
    });
    if (foreign !== undefined && !closed) {
      others = { of: keyOf(foreign), timetable: await openOthers(name, foreign) };
      return look();
    }
    if (isMoved && !closed) return begin(); // another process has restarted it and counts from another time
    stopClaimCheck();
    if (claimCheck !== undefined && !closed)
      stopClaimCheck = clock.after(Math.max(1, claimCheck - clock.now()), () => attempt(look));
    if (claims === undefined || closed) return; // an unfinished claim is taken over after the next start
    claimed = claims.row.last;
    crashPoint?.('schedule:claimed');
    if (claims.missed > 0)
      onDue({ kind: 'suppressed', reason: 'missed' }, dueOf(claims.row.last, claims.missed));
    for (const { due, missed } of claims.refused)
      onDue({ kind: 'suppressed', reason: 'busy' }, dueOf(due, missed));
    for (const { due, missed } of claims.fire) {
      held.add(due);
      const time = dueOf(due, missed);
      fire(time, (thrown) => attempt(() => settle(due, thrown)))
        .then(
          (outcome) => onDue(outcome, time),
          () => undefined, // `over` got the error
        )
        .catch(onError);
    }
  };

  const settle = async (due: number, thrown: unknown) => {
    if (thrown !== undefined && toRuntimeError(thrown).code !== 'stream_exists') {
      // The claim stays and is tried again.
      held.delete(due);
      onError(thrown);
      return look();
    }
    crashPoint?.('schedule:started');
    await table.change((row) => (row === undefined ? undefined : { row: withoutClaim(row, due) }));
    held.delete(due);
  };

  attempt(begin);
  return () => {
    closed = true;
    stopClaimCheck();
    for (const cancel of retries) cancel();
    endSchedule();
  };
}

const keyOf = ({ spec, origin }: ScheduleRow) => `${origin} ${spec}`;

/** The timetable that another process has stored. It is empty if this process cannot read it. */
async function openOthers(name: string, { spec, origin }: ScheduleRow): Promise<Timetable> {
  try {
    const schedule = JSON.parse(spec) as Schedule;
    return await openTimetable(name, 'everyMs' in schedule ? { ...schedule, from: origin } : schedule);
  } catch {
    return { next: () => undefined, between: () => ({ newest: [], older: 0 }) };
  }
}

const dueOf = (due: number, missed: number): DueTime => ({ due, missed });

const TABLE = 'schedules';
/** Other processes change the row once for each due time. */
const MAX_TRIES = 100;

export interface ScheduleTable {
  read(): Promise<ScheduleRow | undefined>;
  /**
   * Writes the row that `decide` returns, unless that is undefined. Decides again if another process changed
   * the row first.
   */
  change<Decided extends { readonly row: ScheduleRow }>(
    decide: (row: ScheduleRow | undefined) => Decided | undefined,
  ): Promise<Decided | undefined>;
}

/** The row of one schedule. This process makes its changes one after the other. */
function createScheduleTable(tables: Tables, name: string): ScheduleTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // the caller gets the error
    return done;
  };
  return {
    read: async () => readRow(await tables.get(TABLE, name)),
    change: (decide) =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const found = await tables.get(TABLE, name);
          const decided = decide(readRow(found));
          if (decided === undefined) return undefined;
          const value = decided.row as unknown as Json;
          const is = { table: TABLE, key: name };
          if (await tables.exchange([{ ...is, value: found }], [{ ...is, value }])) return decided;
        }
        throw scheduleContended(name);
      }),
  };
}

const scheduleContended = (name: string) =>
  new RuntimeError(
    'schedule_contended',
    `Others changed the schedule "${name}" ${MAX_TRIES} times while it was to be claimed.`,
    { hint: 'Telltale tries again by itself. How many processes listen on this store?', retryable: true },
  );

/** What the store knows about a schedule. */
export interface ScheduleRow {
  /** Its definition. The schedule restarts when the definition changes. */
  readonly spec: string;
  /** The time that `every` counts from. */
  readonly origin: number;
  /** Every time up to here has been claimed. */
  readonly last: number;
  /** Claims that are not known to have started or been dropped. */
  readonly pending: readonly ClaimedDue[];
}

export interface ClaimedDue {
  readonly due: number;
  /** When it was claimed. */
  readonly at: number;
  /** How many earlier times have no run of their own. */
  readonly missed: number;
}

/** A run that starts later than this after its time makes up for a missed one. */
const ON_TIME_MS = 60_000;
/**
 * How long the process that claimed a time has for starting its run. After that another process takes over.
 */
const CLAIM_MS = 10_000;
/** The maximum number of open claims. Further times are suppressed as busy. */
const MAX_PENDING = 1_000;

/** Times further in the future than this come from a machine with a wrong clock. */
const CLOCK_TOLERANCE_MS = 60_000;
/**
 * If nobody has claimed the next time of a row for this long, the row is abandoned, and a process with
 * another definition takes over. The last process with the old definition may be gone.
 */
const ABANDONED_MS = 60_000;

const isAhead = (time: number, now: number) => time > now + CLOCK_TOLERANCE_MS;

/**
 * Whether a row was written by a machine with a wrong clock, so that it says nothing about what is due now.
 */
const isOfWrongClock = ({ origin, last, pending }: ScheduleRow, now: number): boolean =>
  isAhead(Math.max(last, origin, ...pending.map(({ at }) => at)), now);

/** Whether no process works on the schedule by the timetable of its row. */
const isAbandoned = ({ last }: ScheduleRow, { next }: Timetable, now: number): boolean =>
  (next(last) ?? last) + ABANDONED_MS <= now;

/**
 * Replaces a row that does not count, on behalf of a process that has claimed all times up to `last`. A time
 * that has just come is included.
 */
function renewRow(
  before: ScheduleRow,
  { spec, origin, last }: Pick<ScheduleRow, 'spec' | 'origin' | 'last'>,
  now: number,
  { between }: Timetable,
): ScheduleRow {
  const since = isAhead(last, now) ? 0 : last;
  const due = between(Math.max(since, now - ON_TIME_MS), now).newest.at(-1);
  const pending = before.pending.map((claim) => (isAhead(claim.at, now) ? { ...claim, at: now } : claim));
  return { spec, origin, last: due === undefined ? now : due - 1, pending };
}

export const beginRow = (spec: string, now: number, before?: ScheduleRow): ScheduleRow => ({
  spec,
  origin: now,
  last: now,
  pending: before?.pending ?? [],
});

export interface ClaimInput {
  readonly row: ScheduleRow;
  readonly now: number;
  /** After `row.last`, up to `now`. */
  readonly dues: Dues;
  readonly missed: MissedPolicy;
  /** Times that this process is starting. */
  readonly held: ReadonlySet<number>;
  /** How long a claim is valid. */
  readonly claimMs: number;
}

export interface Claims {
  /** The row to write before anything starts. */
  readonly row: ScheduleRow;
  readonly fire: readonly ClaimedDue[];
  /** How many times start no run. */
  readonly missed: number;
  /** Times that exceed the maximum of open claims. */
  readonly refused: readonly ClaimedDue[];
}

/** Decides what to claim now. Undefined if there is nothing to do. */
export function decideClaims({ row, now, dues, missed, held, claimMs }: ClaimInput): Claims | undefined {
  const left = row.pending.filter(({ due, at }) => !held.has(due) && at + claimMs <= now);
  const chosen = choose(dues, missed, now);
  const last = dues.newest.at(-1);
  if (last === undefined && left.length === 0) return undefined;
  const taken = left.map((claim) => ({ ...claim, at: now }));
  const room = Math.max(0, MAX_PENDING - row.pending.length);
  const claimed = chosen.fire.slice(0, room);
  const fire = [...taken, ...claimed];
  const others = row.pending.filter(({ due }) => !taken.some((claim) => claim.due === due));
  return {
    row: { ...row, last: last ?? row.last, pending: [...others, ...fire] },
    fire,
    missed: chosen.missed,
    refused: chosen.fire.slice(room),
  };
}

function choose(
  { newest, older }: Dues,
  missed: MissedPolicy,
  now: number,
): { readonly fire: readonly ClaimedDue[]; readonly missed: number } {
  const due = newest.at(-1);
  if (due === undefined) return { fire: [], missed: 0 };
  const all = newest.length + older;
  switch (missed) {
    case 'all':
      return {
        fire: newest.map((each, n) => ({ due: each, at: now, missed: n === 0 ? older : 0 })),
        missed: 0,
      };
    case 'skip':
      if (now - due > ON_TIME_MS) return { fire: [], missed: all };
      return { fire: [{ due, at: now, missed: all - 1 }], missed: 0 };
    case 'once':
      return { fire: [{ due, at: now, missed: all - 1 }], missed: 0 };
  }
}

export const withoutClaim = (row: ScheduleRow, due: number): ScheduleRow => ({
  ...row,
  pending: row.pending.filter((claim) => claim.due !== due),
});

/** When to check the claims of other processes again. */
function nextClaimCheck(
  { pending }: ScheduleRow,
  held: ReadonlySet<number>,
  claimMs: number,
): number | undefined {
  const times = pending.filter(({ due }) => !held.has(due)).map(({ at }) => at + claimMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Undefined if the value is not a row. The schedule then starts anew. */
function readRow(value: Json | undefined): ScheduleRow | undefined {
  if (!isJsonObject(value)) return undefined;
  const { spec, origin, last, pending } = value;
  if (typeof spec !== 'string' || typeof origin !== 'number' || typeof last !== 'number') return undefined;
  if (!Array.isArray(pending)) return undefined;
  return { spec, origin, last, pending: pending as unknown as ScheduleRow['pending'] };
}
