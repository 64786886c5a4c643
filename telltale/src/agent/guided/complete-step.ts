import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import {
  type ActionState,
  cameToNothing,
  completesStep,
  idFor,
  isShown,
  newestOf,
  writtenId,
} from '../../log/action.ts';
import type { SessionState, TaskState } from '../../log/state.ts';
import type { ActionScheduler } from '../../scheduler/action-scheduler.ts';
import { allOf, claimProblems } from '../../workflows/guided/check-claim.ts';
import type { WorkedAction } from '../../workflows/guided/task.ts';
import type { SessionLog } from '../session-log.ts';
import { preventedActions } from '../turn/groups.ts';

type Working = Pick<ActionScheduler, 'tracked' | 'whenAllEnded' | 'waitsForStream'>;

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
  const moving = () => others().filter((id) => !(holdsStream && scheduler.waitsForStream(id)));
  for (let ids = moving(); ids.length > 0; ids = moving())
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      scheduler.whenAllEnded(ids, () => {
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
  const faults = preventedActions(state.news.faults);
  return faults.length === 0
    ? undefined
    : undone(`Something else in your turn did not act (${faults.join(', ')})`);
}

const undone = (what: string) =>
  new RuntimeError('step_undone', `The step is not completed. ${what}, which you had not seen.`, {
    hint: 'Look at its result, fix it or say in the notes why it does not matter, and complete the step again.',
  });

const noStep = () =>
  new RuntimeError('no_step', 'There is no step to complete.', {
    hint: 'A step is completed once; the next one comes with the next message.',
  });

/** Why the actions that a claim names do not prove it: each must have been done in this step, and succeeded. */
export function evidenceProblems(
  state: SessionState,
  task: TaskState,
  named: readonly string[],
): readonly RuntimeError[] {
  const { evidence: asked = [] } = task.given;
  const problems: RuntimeError[] = [];
  const done = new Set<string>();
  for (const id of named) {
    const action = state.actions.get(newestOf(state, id));
    if (action === undefined) problems.push(refused(`No action has the id "${id}".`, ids(state, task, id)));
    else if (!isOfTask(task, action))
      problems.push(refused(`The action "${id}" (${action.action.name}) was not done in this step.`, AGAIN));
    else if (action.status !== 'completed')
      problems.push(
        refused(`The action "${id}" (${action.action.name}) did not succeed: it is ${action.status}.`, AGAIN),
      );
    else done.add(action.action.name);
  }
  const missing = asked.filter((name) => !done.has(name));
  if (missing.length === 0) return problems;
  const found = missing.flatMap((name) => succeeded(state, task, name));
  const needed = refused(
    `It needs proof: name an action of ${missing.map((name) => `"${name}"`).join(' and ')} that was done in this step and succeeded.`,
    found.length === 0
      ? 'None has succeeded in this step yet: do it, look at its result, then complete the step with its id in "evidence".'
      : `Give "evidence": ${JSON.stringify(found)} if that is what proves it.`,
  );
  return [...problems, needed];
}

const succeeded = (state: SessionState, task: TaskState, name: string): readonly string[] =>
  state.recent
    .filter((id) => {
      const action: ActionState | undefined = state.actions.get(id);
      return (
        action !== undefined &&
        isOfTask(task, action) &&
        action.status === 'completed' &&
        action.action.name === name
      );
    })
    .slice(-1)
    .map((id) => idFor(state, id));

const ids = (state: SessionState, task: TaskState, id: string): string =>
  suggest(
    id,
    state.recent
      .filter((each) => {
        const action = state.actions.get(each);
        return action !== undefined && isOfTask(task, action);
      })
      .map((each) => idFor(state, each)),
    'Actions of this step',
  );

const AGAIN = 'Do it again in this step if it is needed, and name that one.';

const refused = (message: string, hint: string) =>
  new RuntimeError('evidence_refused', `The step is not completed. ${message}`, { hint });

/** Actions that a verifier is shown, the last ones, and characters of each value. */
const MAX_ACTIONS = 50;
const MAX_VALUE = 2_000;

/** Whether an action belongs to the task in hand, and is not the one that ends it. */
const isOfTask = ({ since }: TaskState, { action, turn }: ActionState): boolean =>
  turn > since && !completesStep(action);

/** What was done for the task in hand. */
export function workOf(state: SessionState, task: TaskState): readonly WorkedAction[] {
  const recent = state.recent.slice(-2 * MAX_ACTIONS).flatMap((id) => state.actions.get(id) ?? []);
  return recent
    .filter((each) => isOfTask(task, each))
    .slice(-MAX_ACTIONS)
    .map(({ action, status, input, output, error }) => ({
      id: action.id,
      name: action.name,
      status,
      input: bounded(input ?? action.parameters),
      output: bounded(output ?? (error as Json | undefined) ?? null),
    }));
}

function bounded(value: Json): Json {
  const text = JSON.stringify(value);
  if (text.length <= MAX_VALUE) return value;
  return `${text.slice(0, MAX_VALUE)}… [${text.length - MAX_VALUE} characters left out]`;
}
