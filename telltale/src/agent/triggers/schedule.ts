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
  /** Has the run of a time started, or says why not. `over`: it is on its log, or never will be; or what was thrown. */
  readonly fire: (due: DueTime, over: (thrown?: unknown) => void) => Promise<OutsideOutcome>;
  readonly onDue: (outcome: OutsideOutcome, due: DueTime) => void;
}

/** A store that fails is asked again after that. */
const RETRY_MS = 10_000;

/**
 * Starts a run for each time of a schedule, once over all processes of a store, whatever dies meanwhile: a time is
 * claimed in the store first, and a claim that nobody makes good is another's after a while. The run's id follows from
 * the time, so that the log refuses a second one. Returns what ends it.
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
  /** Up to here this process has claimed times. */
  let claimed = 0;
  /** Of whoever has begun it anew with other times. */
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
    // With other times, somebody has begun it anew since: theirs count, as long as somebody keeps them.
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
    if (isMoved && !closed) return begin(); // others have begun it anew, and count from another time
    stopClaimCheck();
    if (claimCheck !== undefined && !closed)
      stopClaimCheck = clock.after(Math.max(1, claimCheck - clock.now()), () => attempt(look));
    if (claims === undefined || closed) return; // a claim that is left is taken up after the next start
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
          () => undefined, // it was settled with what was thrown
        )
        .catch(onError);
    }
  };

  const settle = async (due: number, thrown: unknown) => {
    if (thrown !== undefined && toRuntimeError(thrown).code !== 'stream_exists') {
      // The claim stays, and is taken up again.
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

/** By the times that another process has written down. Those that cannot be read here are none. */
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
/** Others change a row once for each time that comes due. */
const MAX_TRIES = 100;

export interface ScheduleTable {
  read(): Promise<ScheduleRow | undefined>;
  /** Writes what `decide` makes of the row, unless that is undefined; decides again where another was quicker. */
  change<Decided extends { readonly row: ScheduleRow }>(
    decide: (row: ScheduleRow | undefined) => Decided | undefined,
  ): Promise<Decided | undefined>;
}

/** The row of one schedule. Changes of this process are made one after the other. */
function createScheduleTable(tables: Tables, name: string): ScheduleTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // whoever asked hears of it
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

/** What the store knows of a schedule. */
export interface ScheduleRow {
  /** Its times, as they were when it was begun: with others it is begun anew. */
  readonly spec: string;
  /** What `every` is counted from. */
  readonly origin: number;
  /** Up to here every time was claimed, by whoever came first. */
  readonly last: number;
  /** Claimed, and not known to have been started or dropped. */
  readonly pending: readonly ClaimedDue[];
}

export interface ClaimedDue {
  readonly due: number;
  /** When it was claimed. */
  readonly at: number;
  /** How many times beside it have no run of their own. */
  readonly missed: number;
}

/** A run that comes later than that after its time makes up for what was missed. */
const ON_TIME_MS = 60_000;
/** How long whoever claimed a time has for starting its run before another takes it to be dead. */
const CLAIM_MS = 10_000;
/** Times that are claimed and not yet started: of one more it is said that the schedule is busy. */
const MAX_PENDING = 1_000;

/** Times further ahead than that were written by a machine whose clock is wrong. */
const CLOCK_TOLERANCE_MS = 60_000;
/**
 * Where nobody has claimed the next time of a row for that long, nobody keeps its times any more, and whoever has others
 * takes the schedule over: a process of before a change may have been the last to start, and be gone.
 */
const ABANDONED_MS = 60_000;

const isAhead = (time: number, now: number) => time > now + CLOCK_TOLERANCE_MS;

/** Whether a row was written by a machine whose clock is wrong: it says nothing of the times that are due now. */
const isOfWrongClock = ({ origin, last, pending }: ScheduleRow, now: number): boolean =>
  isAhead(Math.max(last, origin, ...pending.map(({ at }) => at)), now);

/** Whether nobody keeps a schedule by the times of its row, which `timetable` has. */
const isAbandoned = ({ last }: ScheduleRow, { next }: Timetable, now: number): boolean =>
  (next(last) ?? last) + ABANDONED_MS <= now;

/**
 * Begun anew in place of one that does not count, by somebody who has claimed all times up to `last`. The time that
 * has just come, if one has, is had.
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
  /** Times that are in hand here. */
  readonly held: ReadonlySet<number>;
  /** How long a claim counts. */
  readonly claimMs: number;
}

export interface Claims {
  /** As it is written before anything starts. */
  readonly row: ScheduleRow;
  readonly fire: readonly ClaimedDue[];
  /** Times that nothing is started for. */
  readonly missed: number;
  /** Times that found too many before them. */
  readonly refused: readonly ClaimedDue[];
}

/** What is to be claimed now; undefined where there is nothing to do. */
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

/** When a claim of somebody else's is to be looked at again. */
function nextClaimCheck(
  { pending }: ScheduleRow,
  held: ReadonlySet<number>,
  claimMs: number,
): number | undefined {
  const times = pending.filter(({ due }) => !held.has(due)).map(({ at }) => at + claimMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Undefined where it is none: then the schedule begins anew. */
function readRow(value: Json | undefined): ScheduleRow | undefined {
  if (!isJsonObject(value)) return undefined;
  const { spec, origin, last, pending } = value;
  if (typeof spec !== 'string' || typeof origin !== 'number' || typeof last !== 'number') return undefined;
  if (!Array.isArray(pending)) return undefined;
  return { spec, origin, last, pending: pending as unknown as ScheduleRow['pending'] };
}
