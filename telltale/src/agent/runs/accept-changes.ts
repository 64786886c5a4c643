import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { RunEventBody, StepDecision } from '../../log/run-event.ts';
import type { AcceptChanges, RunState, WorkflowChanges } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import {
  type ChangeDecision,
  type ChangeDecisionSet,
  type ChangePlan,
  pinSteps,
  planChanges,
} from '../../workflows/changes/plan-changes.ts';
import { runsOf } from '../ending/cancel-unowned.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { acquireRun, runPin } from './open-run.ts';
import type { RunsDeps } from './run-environment.ts';
import { workflowGone } from './run-errors.ts';
import { isOver, workflowsOf } from './run-types.ts';

interface PlannedRun {
  readonly state: RunState;
  readonly workflow: WorkflowManifest;
  /** The prefix of its step names in a diff. */
  readonly prefix: string;
  readonly plan: ChangePlan;
}

/** Compares a run and its called runs with the current definition of an agent. Writes nothing. */
export async function planRunChanges(
  { store }: Pick<RunsDeps, 'store'>,
  state: RunState,
  agent: LoadedAgent<unknown>,
  accept: AcceptChanges = true,
): Promise<{ readonly changes: WorkflowChanges; readonly runs: readonly PlannedRun[] }> {
  const decisions = toDecisions(accept);
  const known = workflowsOf(agent);
  const runs: PlannedRun[] = [];
  const visit = async (of: RunState, prefix: string): Promise<void> => {
    const workflow = known.get(of.workflow);
    if (workflow === undefined) throw workflowGone(of.workflow, agent);
    if (of.manifest.hash !== agent.hash)
      runs.push({ state: of, workflow, prefix, plan: planChanges(of, workflow, under(decisions, prefix)) });
    for (const { stream } of await runsOf(store, of.id)) {
      const called = await readRun(store, stream);
      const step = called.origin.parent?.step;
      if (step !== undefined && !isOver(called.status)) await visit(called, `${prefix}${step}:`);
    }
  };
  await visit(state, '');
  const changes = {
    run: state.id,
    workflow: state.workflow,
    manifest: agent.path,
    changed: runs.length > 0,
    steps: runs.flatMap(({ plan, prefix }) =>
      plan.steps.map((each) => ({ ...each, step: prefix + each.step })),
    ),
    undecided: runs.flatMap(({ plan, prefix }) => plan.undecided.map((step) => prefix + step)),
  };
  const impossible = runs.find(({ plan }) => plan.impossible !== undefined)?.plan.impossible;
  if (impossible !== undefined) throw cannotFollow(state.id, agent.path, impossible);
  const wrong = wrongOf(decisions, runs);
  if (wrong.length > 0) throw wrongDecisions(changes, wrong);
  return { changes, runs };
}

/**
 * Pins a run and its called runs to the current definition of an agent, on their logs. Refused while an
 * ambiguous step is undecided, and while another process works on one of the runs.
 */
export async function acceptRunChanges(
  deps: RunsDeps,
  state: RunState,
  agent: LoadedAgent<unknown>,
  accept: AcceptChanges,
  by: string,
): Promise<void> {
  const { changes, runs } = await planRunChanges(deps, state, agent, accept);
  if (changes.undecided.length > 0) throw undecided(changes);
  const { runNew } = toDecisions(accept);
  // Called runs come first. If the process is killed in between, the next attempt asks about everything that
  // is not accepted yet.
  for (const { state: of, prefix, ...planned } of runs.toReversed()) {
    const held = await acquireRun(deps, of.id);
    try {
      // Another process may have accepted, resumed or ended the run since it was compared.
      if (held.journal.state.seq !== of.seq) throw hasGoneOn(of.id);
      held.journal.append(changeEvent(agent, planned, ownNames(runNew, prefix), by));
      await held.journal.flushed();
    } finally {
      held.journal.seal();
      await held.writer.release();
    }
  }
}

/**
 * The change of a run that follows its session or its caller, whose changes were accepted. Ambiguous steps
 * fail.
 */
export function followSession(
  state: RunState,
  agent: LoadedAgent<unknown>,
  workflow: WorkflowManifest,
): RunEventBody {
  const first = planChanges(state, workflow, NOTHING_DECIDED);
  const decide = new Map(first.undecided.map((step) => [step, { as: 'fail' as const }]));
  const plan = planChanges(state, workflow, { ...NOTHING_DECIDED, decide });
  return changeEvent(agent, { workflow, plan }, [], 'runtime');
}

const changeEvent = (
  agent: LoadedAgent<unknown>,
  { workflow, plan }: Pick<PlannedRun, 'workflow' | 'plan'>,
  runNew: readonly string[],
  by: string,
): RunEventBody => ({
  type: 'workflow.changed',
  by,
  manifest: runPin(agent),
  steps: pinSteps(workflow),
  replaced: plan.replaced,
  decided: plan.decided,
  run_new: runNew,
  ...(plan.fails === undefined ? {} : { fails: plan.fails }),
});

const NOTHING_DECIDED: ChangeDecisionSet = { decide: new Map(), runNew: new Set() };

function toDecisions(accept: AcceptChanges): ChangeDecisionSet {
  if (typeof accept === 'boolean') return NOTHING_DECIDED;
  const decide = new Map(
    Object.entries(accept.decide ?? {}).map(([step, said]): [string, ChangeDecision] => [
      step,
      isMap(said) ? { as: 'skip', output: said.skip as Json } : { as: said as StepDecision },
    ]),
  );
  return { decide, runNew: new Set(accept.run_new) };
}

/** The decisions about the steps of one run, without those of the runs that it calls. */
const under = ({ decide, runNew }: ChangeDecisionSet, prefix: string): ChangeDecisionSet => ({
  decide: new Map(
    ownNames(decide.keys(), prefix).flatMap((step) => {
      const decision = decide.get(prefix + step);
      return decision === undefined ? [] : [[step, decision] as const];
    }),
  ),
  runNew: new Set(ownNames(runNew, prefix)),
});

const ownNames = (names: Iterable<string>, prefix: string): readonly string[] =>
  [...names].flatMap((name) => {
    const own = name.startsWith(prefix) ? name.slice(prefix.length) : ':';
    return own.includes(':') ? [] : [own];
  });

function wrongOf({ decide, runNew }: ChangeDecisionSet, runs: readonly PlannedRun[]): readonly string[] {
  const prefixes = new Set(runs.map(({ prefix }) => prefix));
  const strangers = [...decide.keys(), ...runNew].filter(
    (name) => !prefixes.has(name.slice(0, name.lastIndexOf(':') + 1)),
  );
  return [...strangers, ...runs.flatMap(({ plan, prefix }) => plan.wrong.map((each) => prefix + each))];
}

/** An error about a changed workflow. `changes` holds the whole diff. */
export type ChangesError = RuntimeError & { readonly changes: WorkflowChanges };

export const hasChanges = (thrown: unknown): thrown is ChangesError =>
  thrown instanceof RuntimeError && 'changes' in thrown;

function undecided(changes: WorkflowChanges): ChangesError {
  const { run, undecided: steps } = changes;
  const flags = steps.map((step) => `--decide ${step}=${choicesOf(changes, step).join('|')}`);
  const error = new RuntimeError(
    'changes_undecided',
    `The workflow "${changes.workflow}" of ${run} has changed, and ${
      steps.length === 1 ? 'a step is' : `${steps.length} steps are`
    } in doubt: ${steps.join(', ')}. ${steps.length === 1 ? 'It' : 'Each'} had begun and may have taken effect.`,
    {
      hint: `Find out whether it did, and decide: telltale workflow resume ${run} --accept-changes ${flags.join(' ')}`,
    },
  );
  return Object.assign(error, { changes });
}

const choicesOf = ({ steps }: WorkflowChanges, step: string): readonly StepDecision[] =>
  steps.find((each) => each.step === step)?.choices ?? ['skip', 'fail'];

function wrongDecisions(changes: WorkflowChanges, wrong: readonly string[]): ChangesError {
  const error = new RuntimeError(
    'bad_decision',
    `This cannot be decided about ${changes.run}: ${wrong.join(', ')}.`,
    {
      hint: `To see which steps are in doubt and what you can decide: telltale workflow resume ${changes.run} --accept-changes --dry-run`,
    },
  );
  return Object.assign(error, { changes });
}

const hasGoneOn = (run: string) =>
  new RuntimeError('stream_owned', `Another process continued ${run} at the same time.`, {
    hint: `To see what happened: telltale workflow show ${run}`,
  });

const cannotFollow = (run: string, path: string, why: string) =>
  new RuntimeError('manifest_changed', `${run} cannot continue with ${path} as it is now. ${why}`, {
    hint: `Restore it, or end the run: telltale workflow cancel ${run}`,
  });
