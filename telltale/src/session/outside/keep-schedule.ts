import type { Engine, Schedule } from '../../engine/engine.ts';
import { openTimetable, type Timetable } from '../../engine/timetable.ts';
import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables } from '../../store/store.ts';
import type { OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { DueTime, OutsideOutcome } from '../runs/run-types.ts';
import {
  beginRow,
  CLAIM_MS,
  type Claims,
  decideClaims,
  isAbandoned,
  isOfWrongClock,
  nextDoubt,
  renewRow,
  type ScheduleRow,
  withoutClaim,
} from './schedule-row.ts';
import { createScheduleTable } from './schedule-table.ts';

export interface KeepDeps {
  readonly engine: Pick<Engine, 'schedule'>;
  readonly tables: Tables;
  readonly clock: Clock;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

export interface KeptSchedule {
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
export function keepSchedule(deps: KeepDeps, kept: KeptSchedule): () => void {
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
  let endDoubt: () => void = () => undefined;
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
    let doubt: number | undefined;
    let isMoved = false;
    let foreign: ScheduleRow | undefined;
    const claims = await table.change((row) => {
      isMoved = row?.spec === spec && row.origin !== origin && 'everyMs' in trigger.schedule;
      if (isMoved) return undefined;
      foreign = row !== undefined && row.spec !== spec && others?.of !== keyOf(row) ? row : undefined;
      const decided = decide(row);
      doubt = row === undefined ? undefined : nextDoubt(decided?.row ?? row, held, claimMs);
      return decided;
    });
    if (foreign !== undefined && !closed) {
      others = { of: keyOf(foreign), timetable: await openOthers(name, foreign) };
      return look();
    }
    if (isMoved && !closed) return begin(); // others have begun it anew, and count from another time
    endDoubt();
    if (doubt !== undefined && !closed)
      endDoubt = clock.after(Math.max(1, doubt - clock.now()), () => attempt(look));
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
    endDoubt();
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
