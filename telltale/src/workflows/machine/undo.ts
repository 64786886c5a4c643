import { stepName } from '../../events/reduce-run.ts';
import type { StepState } from '../../events/run-state.ts';
import type { ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { nameOf, pathOf } from '../changes/pinned-steps.ts';
import type { BeginUndo, UndoPlace } from '../leaf.ts';
import { attempt } from './attempt.ts';
import { type Branch, createBranch } from './branch.ts';
import { timedOut, undoInterrupted } from './failures.ts';
import { localsAt } from './locals-at.ts';
import { stepsByName } from './steps-by-name.ts';
import { LET_GO, type Walk } from './walk.ts';

/**
 * Undoes what has completed and says how, last one first. One that cannot be undone is recorded with its error and
 * does not hold up the others. After a crash it goes on with those the log does not show as undone: the one that was
 * in hand is undone again where that may be, else it stays in doubt.
 */
export async function undo(walk: Walk, workflow: WorkflowManifest, released: Branch): Promise<void> {
  const steps = stepsByName(workflow);
  if (![...steps.values()].some(({ compensate }) => compensate !== undefined)) return;
  // What has run under an earlier name is undone as its successor says.
  const takers = new Map(
    [...(walk.state.change?.replaced ?? [])].map(([taker, was]) => [was, nameOf(taker)] as const),
  );
  const completed: { readonly known: StepState; readonly step: Step }[] = [];
  for (const known of walk.state.steps.values()) {
    const step = steps.get(stepName(known.step)) ?? steps.get(takers.get(pathOf(known.step)) ?? '');
    if (known.status === 'completed' && step?.compensate !== undefined) completed.push({ known, step });
  }
  completed.sort((a, b) => (b.known.endedSeq ?? 0) - (a.known.endedSeq ?? 0));
  for (const { known, step } of completed) {
    if (known.undoing?.repeatable === false) {
      const error = undoInterrupted(known.step).toJSON();
      walk.write({ type: 'step.compensated', step: known.step, error }, known.cause);
      continue;
    }
    const error = await undoOne(
      walk,
      { step, address: known.step, locals: localsAt(walk.state.steps, known.step, steps) },
      known,
      released,
    );
    walk.write(
      { type: 'step.compensated', step: known.step, ...(error === undefined ? {} : { error }) },
      known.cause,
    );
  }
}

/** What went wrong, if anything did. As a step it has the time that it says, else the time of what it calls. */
async function undoOne(
  walk: Walk,
  place: UndoPlace,
  known: StepState,
  released: Branch,
): Promise<ErrorJson | undefined> {
  const { address, step } = place;
  const ownMs = step.compensate?.timeout?.ms;
  const branch = createBranch(released);
  let disarm: (() => void) | undefined;
  let late: RuntimeError | undefined;
  const begin: BeginUndo = async (repeatable, timeoutMs) => {
    walk.write({ type: 'step.compensating', step: address, repeatable }, known.cause);
    await walk.journal.flushed(); // also of what it is undone for
    if (ownMs !== undefined || timeoutMs === undefined) return;
    disarm = walk.clock.after(timeoutMs, () => {
      late = timedOut(address, timeoutMs);
      branch.stop(late.message);
    });
  };
  const tried = await attempt(walk, {
    address,
    branch,
    timeoutMs: ownMs,
    triedAt: walk.clock.now(),
    mayPark: false,
    run: (signal) => walk.leaves.compensate(place, known.output ?? null, signal, begin).then(() => null),
  });
  disarm?.();
  branch.close();
  if (released.stopped !== undefined && tried.kind === 'stopped') throw LET_GO;
  return (tried.kind === 'failed' ? tried.error : tried.kind === 'stopped' ? late : undefined)?.toJSON();
}
