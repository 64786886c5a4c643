import type { Dues, Timetable } from '../../engine/timetable.ts';
import type { Json } from '../../kernel/json.ts';
import { isJsonObject } from '../../kernel/json.ts';
import type { MissedPolicy } from '../../triggers/outside-triggers.ts';

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
export const CLAIM_MS = 10_000;
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
export const isOfWrongClock = ({ origin, last, pending }: ScheduleRow, now: number): boolean =>
  isAhead(Math.max(last, origin, ...pending.map(({ at }) => at)), now);

/** Whether nobody keeps a schedule by the times of its row, which `timetable` has. */
export const isAbandoned = ({ last }: ScheduleRow, { next }: Timetable, now: number): boolean =>
  (next(last) ?? last) + ABANDONED_MS <= now;

/**
 * Begun anew in place of one that does not count, by somebody who has claimed all times up to `last`. The time that
 * has just come, if one has, is had.
 */
export function renewRow(
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

export interface Look {
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
export function decideClaims({ row, now, dues, missed, held, claimMs }: Look): Claims | undefined {
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
export function nextDoubt(
  { pending }: ScheduleRow,
  held: ReadonlySet<number>,
  claimMs: number,
): number | undefined {
  const times = pending.filter(({ due }) => !held.has(due)).map(({ at }) => at + claimMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Undefined where it is none: then the schedule begins anew. */
export function readRow(value: Json | undefined): ScheduleRow | undefined {
  if (!isJsonObject(value)) return undefined;
  const { spec, origin, last, pending } = value;
  if (typeof spec !== 'string' || typeof origin !== 'number' || typeof last !== 'number') return undefined;
  if (!Array.isArray(pending)) return undefined;
  return { spec, origin, last, pending: pending as unknown as ScheduleRow['pending'] };
}
