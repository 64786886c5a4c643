import type { WorkEnd } from '../../engine/engine.ts';
import type { Cause } from '../../events/event.ts';
import type { RunState, StepState } from '../../events/run-state.ts';
import type { RunWalkEnd } from './drive-run.ts';
import type { HeldRun } from './open-run.ts';
import type { BoardEntry, RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { resultOf } from './run-end.ts';
import type { RunResult } from './run-types.ts';
import { tellEnd } from './tell-end.ts';

type SettleDeps = Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly board: RunBoard };

/** What became of a walk beside its end. */
export interface WalkLeft {
  /** Whether something came that its steps have not heard of. */
  readonly hasNews: () => boolean;
  /** Whether it was to be let go of, perhaps when it had come to its end already. */
  readonly isLetGo: () => boolean;
  /** Gives up the turn of a run that has ended. */
  readonly leaveTurn: () => Promise<unknown>;
}

/** Writes down how the walk ended, and tells who waits for it. */
export async function settleWalk(
  deps: SettleDeps,
  entry: BoardEntry,
  held: HeldRun,
  end: RunWalkEnd,
  { hasNews, isLetGo, leaveTurn }: WalkLeft,
): Promise<WorkEnd> {
  const { journal } = held;
  const { state } = journal;
  switch (end.kind) {
    case 'stopped':
      return letGoOf(deps, entry, held);
    case 'parked': {
      const waiting = { for: end.for, ...(end.due === undefined ? {} : { due: end.due }) };
      // One that was held for its client says so already.
      if (state.status !== 'waiting') journal.append({ type: 'workflow.waiting', ...waiting });
      if (!(await isWritten(held))) return letGoOf(deps, entry, held);
      // The walk is over: from here on, what it cannot be told any more has to be heard of by the next.
      entry.cancel = undefined;
      entry.letGo = undefined;
      if (isLetGo()) return letGoOf(deps, entry, held);
      if (hasNews() || state.cancelling !== undefined) return { kind: 'waiting', due: deps.clock.now() };
      deps.board.park(entry, { seq: state.seq });
      return { kind: 'waiting', ...(end.due === undefined ? {} : { due: end.due }) };
    }
    case 'completed':
      journal.append({ type: 'workflow.completed', output: end.output }, endOf(lastEnded(state)));
      break;
    case 'failed':
      journal.append(
        { type: 'workflow.failed', error: end.error, ...(end.step === undefined ? {} : { step: end.step }) },
        endOf(end.step === undefined ? undefined : state.steps.get(end.step)),
      );
      break;
    case 'cancelled':
      journal.append({ type: 'workflow.cancelled', reason: end.reason, by: end.by });
      break;
  }
  // An end that could not be written is none: the log says that the run goes on.
  if (!(await isWritten(held))) return letGoOf(deps, entry, held);
  await leaveTurn();
  await tellEnd(deps, state);
  return leave(deps, entry, resultOf(state));
}

/** Where on the log a step ended, which brought the run to its own end. */
const endOf = (step: StepState | undefined): Cause | undefined =>
  step?.endedSeq === undefined
    ? undefined
    : { stream: step.cause.stream, seq: step.endedSeq, depth: step.cause.depth + 1 };

function lastEnded({ steps }: RunState): StepState | undefined {
  let last: StepState | undefined;
  for (const step of steps.values()) if ((step.endedSeq ?? 0) > (last?.endedSeq ?? 0)) last = step;
  return last;
}

const isWritten = ({ journal }: HeldRun): Promise<boolean> => isKept(journal.flushed());

const isKept = (promise: Promise<void>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false, // `lost` knows why
  );

async function letGoOf(
  deps: SettleDeps,
  entry: BoardEntry,
  { journal, lost, made }: HeldRun,
): Promise<WorkEnd> {
  const error = lost();
  journal.seal();
  // One that could not be made was not interrupted: whoever began it hears from there why there is none.
  if (made !== undefined && !(await isKept(made))) {
    deps.board.forget(entry.run);
    return { kind: 'done' };
  }
  const told = error === undefined ? {} : { error: error.toJSON() };
  return leave(deps, entry, { run: entry.run, status: 'interrupted', ...told });
}

export function leave({ board }: SettleDeps, { run }: BoardEntry, result: RunResult): WorkEnd {
  board.tell(run, ({ onEnd }) => onEnd(result));
  board.forget(run);
  return { kind: 'done' };
}
