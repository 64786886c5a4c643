import { cameToNothing, completesStep, isShown } from '../../events/action.ts';
import { writtenId } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import type { TaskState } from '../../events/task-state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import { allOf, claimProblems } from '../../workflows/guided/check-claim.ts';
import type { SessionLog } from '../session-log.ts';
import { keptFromActing } from '../turn/kept-from-acting.ts';
import { evidenceProblems } from './check-evidence.ts';

type Working = Pick<Scheduler, 'tracked' | 'whenEnded' | 'awaitsMore'>;

/** What `complete_step` does: waits for what runs, judges the claim by the step's rules, and puts it on the log. */
export type CompleteStep = (input: JsonObject, own: string, signal: AbortSignal) => Promise<Json>;

export function createCompleteStep(log: SessionLog, scheduler: () => Working): CompleteStep {
  const { state } = log;
  return async (input, own, signal) => {
    const task = inHand(state);
    await othersEnded(scheduler(), own, state, signal);
    const { notes, context_updates = {}, artifacts = [], evidence = [] } = input;
    const named = evidence as readonly string[];
    const { given } = task;
    // After a restart it may be called once more.
    if (state.task !== task || task.open?.kind === 'claimed') throw noStep();
    const unseen = unseenFailure(state, task, own);
    const asked = { prompt: given.prompt, requires: given.requires ?? {}, accepts: given.accepts ?? {} };
    const problem = allOf([
      ...(unseen === undefined ? [] : [unseen]),
      ...claimProblems(asked, input),
      ...evidenceProblems(state, task, named),
    ]);
    if (problem !== undefined) throw problem;
    const updates = context_updates as JsonObject;
    const made = artifacts as readonly Json[];
    log.append({
      type: 'task.claimed',
      task: given.task,
      nth: task.reports + 1,
      action: own,
      notes: String(notes).trim(),
      ...(Object.keys(updates).length === 0 ? {} : { context_updates: updates }),
      ...(made.length === 0 ? {} : { artifacts: made }),
      ...(named.length === 0 ? {} : { evidence: named }),
    });
    return given.checked === true ? CHECKED : 'Taken.';
  };
}

/** A verifier or a person has the last word: if they want more, the step goes on with what they say. */
const CHECKED = 'Received. The step is completed once the check passes.';

function inHand({ task }: SessionState): TaskState {
  if (task === undefined) throw noStep();
  if (task.open?.kind === 'claimed') throw noStep();
  return task;
}

/**
 * Those that ended ones set off included; what waits for the step itself is not waited for. Where it holds up the stream,
 * nothing that only the rest of the turn could bring is waited for either.
 */
async function othersEnded(
  scheduler: Working,
  own: string,
  { actions }: SessionState,
  signal: AbortSignal,
): Promise<void> {
  const { mode, group } = actions.get(own)?.action ?? {};
  const holdsStream = mode === 'sync' || group !== undefined;
  const others = () => {
    const known = new Map([[own, true]]);
    return scheduler.tracked().filter((id) => !isBehind(id, actions, known));
  };
  const moving = () => others().filter((id) => !(holdsStream && scheduler.awaitsMore(id)));
  for (let ids = moving(); ids.length > 0; ids = moving())
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      scheduler.whenEnded(ids, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
    });
  const stuck = others()[0];
  if (stuck !== undefined)
    throw undone(`The action "${writtenId(stuck)}" waits for what comes behind this one`);
}

/** Whether it waits for one of those that are known to be; each is looked at once. */
function isBehind(id: string, actions: SessionState['actions'], known: Map<string, boolean>): boolean {
  const before = known.get(id);
  if (before !== undefined) return before;
  known.set(id, false); // for who comes back to it in a circle
  const found = (actions.get(id)?.action.depends_on ?? []).some((each) => isBehind(each, actions, known));
  known.set(id, found);
  return found;
}

/** Something of the same turn that did not come about: nobody can have seen that when the step was said to be done. */
function unseenFailure(state: SessionState, task: TaskState, own: string): RuntimeError | undefined {
  for (const id of state.news.results) {
    const known = state.actions.get(id);
    if (known === undefined || id === own || completesStep(known.action)) continue;
    if (known.turn <= task.since || !cameToNothing(known)) continue;
    return isShown(known.action)
      ? undone(`The action "${writtenId(id)}" (${known.action.name}) ended as ${known.status}`)
      : undone('A <foreach> of yours did not run');
  }
  const faults = keptFromActing(state.news.faults);
  return faults.length === 0
    ? undefined
    : undone(`Something else in your turn did not act (${faults.join(', ')})`);
}

const undone = (what: string) =>
  new RuntimeError('step_undone', `The step is not completed. ${what}, which you had not seen.`, {
    hint: 'Look at its result, mend it or say in the notes why it does not matter, and complete the step again.',
  });

const noStep = () =>
  new RuntimeError('no_step', 'There is no step to complete.', {
    hint: 'A step is completed once; the next one comes with the next message.',
  });
