import type { Cause } from '../events/event.ts';
import type { RunAhead } from '../kernel/run-ahead.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Bell } from './bell.ts';
import type { SchedulerDeps } from './edges.ts';
import type { Fifo } from './fifo.ts';
import type { NameSpace } from './names.ts';
import type { Run } from './run.ts';
import type { Scheduler, SchedulerOptions } from './scheduler.ts';

/**
 * `failing`: an action with `on_error: fail` has failed, and only what undoes others may start. `closed`: nothing may.
 * `lost`: nothing may even be recorded.
 */
export type Life = 'open' | 'failing' | 'closed' | 'lost';

/**
 * All that a scheduler consists of, names and bell included: one record, and functions that all schedulers share. With
 * closures a session had 2 KB more. The files beside this one are its verbs.
 */
export interface Works extends Scheduler, NameSpace, Bell {
  readonly options: SchedulerOptions;
  readonly deps: SchedulerDeps;
  /** What has not ended. */
  runs: ReadonlyMap<string, Run>;
  /** Made for the first. */
  openLoops: Set<Run> | undefined;
  /** Ready, and waiting for a place. */
  queue: Fifo<Run> | undefined;
  /** Ready, and in need of none. */
  free: Fifo<Run> | undefined;
  /** Places left of `parallel_actions`. */
  places: number;
  /** Starts that ran ahead of the log. */
  readonly ahead: RunAhead;
  /** Whether something is being started: what comes up meanwhile is taken up behind it. */
  starting: boolean;
  /** Ids in the order of completion. */
  completed: readonly string[];
  life: Life;
  /** Why it is not open any more. */
  shutReason: string;
  /** Who wants to know when nothing runs any more after the log was lost. */
  idle: Set<() => void> | undefined;
  /** The rollback in hand: the next one comes after it. */
  undoing: Promise<unknown> | undefined;
  /** The number of the last `<foreach>`. */
  loopsMade: number;
  /** Starts what may start, then tells of ends. */
  goOn(): void;
  /** An action with `on_error: fail` has failed for good. */
  fatal(id: string, error: RuntimeError, cause: Cause | undefined): void;
}
