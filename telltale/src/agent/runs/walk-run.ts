import type { RunJournal } from '../../engine/run-log.ts';
import { takeSlotFor } from '../../engine/slots.ts';
import type { Clock } from '../../lib/clock.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { RunState } from '../../log/run-state.ts';
import { emptyState } from '../../log/state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { SimpleStep } from '../../manifest/schema/steps/step.ts';
import type { Store } from '../../store/store.ts';
import { closeChangedSteps } from '../../workflows/changes/follow-change.ts';
import { createDecisions } from '../../workflows/decisions.ts';
import { openActions } from '../../workflows/guided/plan/plan-case.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import { runMachine } from '../../workflows/machine/run-machine.ts';
import { endOnLog, type Waits } from '../../workflows/machine/walk.ts';
import { createScope, ownExpressions, runContext, type SessionLink } from '../../workflows/scope.ts';
import type {
  HooksOf,
  PreparedStep,
  StepAttempt,
  StepCall,
  StepExecutors,
  StepHooks,
} from '../../workflows/step-executor.ts';
import { childKey } from '../../workflows/steps/call-below.ts';
import { createStepExecutors } from '../../workflows/steps/create-step-executors.ts';
import type { RunReviews, StepDeps } from '../../workflows/steps/step-deps.ts';
import { createTemplateReader, type ReadTemplates } from '../../workflows/templates.ts';
import { agentView, NOTHING_SAID } from '../agent-view.ts';
import { createLateInvoke } from '../artifact-service.ts';
import { costWith } from '../cost.ts';
import type { Guidance } from '../guided/guidance.ts';
import { hasHooks } from '../hooks/hook-types.ts';
import { createStepHooks } from '../hooks/session-hooks.ts';
import { closeRow, rowOfRun } from '../reviews/review-table.ts';
import { classOf } from '../variables/declared-variables.ts';
import { variableDefaults } from '../variables/session-variables.ts';
import { createStepAgents, runAgentStep } from './agent-step.ts';
import { createClientWorkers, WAITS_FOR_CLIENT } from './client-worker.ts';
import type { Runs } from './create-runs.ts';
import { workflowUnknown } from './find-workflow.ts';
import { createGuidedSessions } from './guided-sessions.ts';
import type { RunEnvironment, RunsDeps } from './run-environment.ts';
import { type AskMessage, RUN_ASKS, RUN_CANCEL } from './run-messages.ts';
import { createRunQuestions, type RunQuestions } from './run-questions.ts';
import type { RunWalk, RunWalkEnd, RunWalkOptions } from './run-registry.ts';
import { groupOfRun } from './run-types.ts';
import { recordCalledUsage } from './run-usage.ts';
import { storingJournal } from './stored-variables.ts';

type RunWalkerDeps = RunsDeps & { readonly leads: ReadonlyMap<string, Guidance> };

/** Creates the walks of all runs. Templates of the manifests are parsed once for all of them. */
export function createRunWalker(
  deps: RunWalkerDeps,
  callRun: Runs['call'],
): (call: RunWalkOptions) => RunWalk {
  const read = createTemplateReader();
  return (call) => walkRun(deps, callRun, read, call);
}

/** Wires one walk: the state machine, the step executors and the decisions. */
function walkRun(
  deps: RunWalkerDeps,
  callRun: Runs['call'],
  read: ReadTemplates,
  { held, environment, entry }: RunWalkOptions,
): RunWalk {
  const journal = storingJournal(held.journal, environment);
  const { state } = journal;
  const { clock, random } = deps;
  const { prepared, workflow } = environment;
  const release = new AbortController();
  const cancel = new AbortController();
  let cancelledBy = 'runtime';
  let released = false;
  let seen = state.seq;
  const isReleased = () => released || release.signal.aborted;
  const session = sessionLinkOf(deps, state.origin.session, state.id, workflow.name, prepared);
  const scope = createScope({
    state,
    workflow,
    session,
    agentOf: () => ownView(environment, deps.env),
    read,
  });
  const { manifest } = environment.agent;
  const invoke = createLateInvoke(prepared.artifactStore, () => ({
    id: state.id,
    calls: state.invokes,
    cost: manifest.budget?.costs.artifact ?? 0,
    balance: () => state.balance,
  }));
  // Created on demand, because most walks need no such signal.
  let ended: AbortSignal | undefined;
  const hasEnded = (): AbortSignal => {
    ended ??= AbortSignal.any([release.signal, cancel.signal]);
    return ended;
  };
  const metadata = async () => ((await session?.agent())?.metadata ?? {}) as JsonObject;
  const inherited = async () => ((await scope.agent()).variables ?? {}) as JsonObject;
  const expressions = ownExpressions(workflow);
  const decisions = createDecisions({
    journal,
    scope,
    invoke,
    hasEnded,
    artifacts: { read: async (...asked) => (await prepared.artifactStore()).artifacts.read(...asked) },
    components: [...manifest.components, ...workflow.components],
    context: async (step) => runContext(state, step, await metadata(), await inherited(), expressions),
  });
  const linger = entry.lingers === true ? createLinger({ journal, clock }) : undefined;
  const asking = deps.ask && createRunQuestions(deps.ask, journal, clock, deps.onError);
  const group = groupOfRun(state);
  const called = { run: state.id, group, agents: state.origin.agents };
  const workers = createGuidedSessions({
    runs: deps,
    environment,
    state,
    journal,
    isReleased,
    metadata: async () => (session === undefined ? undefined : await metadata()),
    bound: () => deps.leads.get(state.origin.session?.id ?? ''),
    wakeListeners: entry.wakeListeners,
  });
  const stepAgents = createStepAgents(deps, prepared);
  const stepDeps: StepDeps = {
    workflow,
    journal,
    clock,
    scope,
    decisions,
    session,
    isReleased,
    takeSlot: takeSlotFor(deps.slots, group),
    guardNonIdempotent: () => deps.underWay.enter(state.id),
    targets: prepared.targets,
    host: prepared.targets.deps,
    ask: prepared.targets.ask,
    costOf: (usage, model) => costWith(model, usage),
    reviews: createRunReviews(journal, clock, isReleased, asking),
    workers: state.origin.client === undefined ? workers : createClientWorkers(journal, entry.wakeListeners),
    targetsOf: stepAgents.targetsOf,
    runAgent: ({ key, step, agent, input, vars, signal, cause, suspend }) =>
      runAgentStep(deps, environment, {
        session: key,
        step,
        agent,
        input,
        vars,
        signal,
        cause,
        suspend,
        isReleased,
        ...called,
        metadata: async () => (session === undefined ? undefined : await metadata()),
        onUsage: (usage, cost_usd, model) =>
          journal.append({ type: 'model.used', step, model, usage, cost_usd }, cause),
      }),
    runWorkflow({ key, step, workflow: name, input, signal, cause, suspend }) {
      const called = prepared.workflows.get(name);
      if (called === undefined)
        return Promise.reject(workflowUnknown(environment.agent, name, [...prepared.workflows.keys()]));
      const { session: of, client, identity, chain, agents } = state.origin;
      return callRun({
        id: key,
        workflow: called,
        agentSource: environment,
        input,
        cause,
        signal,
        isReleased,
        balance: state.balance,
        origin: {
          ...(of === undefined ? {} : { session: of }),
          ...(client === undefined ? {} : { client }),
          ...(identity === undefined ? {} : { identity }),
          parent: { run: state.id, step },
          chain: [...chain, name],
          agents,
        },
        onWaiting: ({ for: what, due }) => suspend(`${name}: ${what}`, due),
        onUsed: (used) => recordCalledUsage(journal, { run: key, workflow: name, step, cause }, used),
      });
    },
  };
  const executorsWithHooks = async (): Promise<StepExecutors> => {
    const isHooked =
      hasHooks(manifest.hooks) ||
      hasHooks(workflow.hooks) ||
      allSteps(workflow).some(({ hooks }) => hasHooks(hooks));
    if (!isHooked) return createStepExecutors(stepDeps);
    await held.created; // hooks run before their step is on the log
    const shown = await metadata();
    const below = await inherited();
    const hooksOf = createStepHooks({
      agent: manifest,
      workflow,
      journal,
      clock,
      invoke,
      command: prepared.targets.command,
      context: (step) => runContext(state, step, shown, below, expressions),
      metadata: () => shown,
    });
    return withStepHooks(createStepExecutors({ ...stepDeps, hooksOf }), hooksOf, hasEnded());
  };
  /**
   * Closes the questions and cancels the calls of steps that an accepted change has removed. Runs before the
   * walk.
   */
  const closeChanged = async (): Promise<void> => {
    if (state.change === undefined) return;
    const left = closeChangedSteps(journal, workflow, clock.now());
    for (const { review, step, answer } of state.reviews) {
      const asker = state.steps.get(step);
      if (answer === undefined && asker !== undefined && endOnLog(asker) !== undefined)
        stepDeps.reviews.close(review, { ...RUN_OVER, note: 'The workflow was changed.' });
    }
    for (const called of left) await cancelIfUnowned(deps, called, state.id, 'The workflow was changed.');
  };
  return {
    async run(): Promise<RunWalkEnd> {
      await closeChanged();
      const begunAt = state.seq; // the walk sees everything that is on the log now
      const end = await runMachine({
        workflow,
        journal,
        decisions,
        scope,
        clock,
        random,
        executors: await executorsWithHooks(),
        signal: release.signal,
        cancel: cancel.signal,
        onSuspended(waits, releaseLater) {
          const leave = () => {
            released = true;
            seen = Math.max(begunAt, journal.committedSeq());
          };
          const leaveLater = () => {
            leave();
            releaseLater();
          };
          if (linger?.hold(waits, leaveLater) === true) return 'hold';
          if (asking?.hold(leaveLater) === true) return 'hold';
          leave();
          return 'release';
        },
      }).finally(() => {
        linger?.end();
        return stepAgents.release();
      });
      if (state.origin.client === undefined)
        await workers.end(end.kind === 'cancelled' ? { ...end, by: cancelledBy } : end);
      if (end.kind === 'parked' || end.kind === 'stopped') return end;
      await cancelCalled(deps, state, workflow);
      // A step that this walk did not reach cannot withdraw its own question.
      for (const { review, answer } of state.reviews)
        if (answer === undefined) stepDeps.reviews.close(review, RUN_OVER);
      return end.kind === 'cancelled' ? { ...end, by: cancelledBy } : end;
    },
    cancel(reason, by) {
      if (cancel.signal.aborted) return;
      cancelledBy = by;
      cancel.abort(reason);
    },
    seen: () => seen,
    release: (error) => release.abort(error),
  };
}

const RUN_OVER = {
  answer: 'withdrawn',
  choice: 'withdrawn',
  by: 'runtime',
  note: 'The run has ended.',
} as const;

function sessionLinkOf(
  { store, snapshots }: RunsDeps,
  of: { readonly id: string; readonly seq: number } | undefined,
  run: string,
  workflow: string,
  prepared: RunEnvironment['prepared'],
): SessionLink | undefined {
  if (of === undefined) return undefined;
  const readAgent = () => snapshots(of.id, of.seq, prepared);
  return createSessionLink({ store, run, workflow, session: of.id, readAgent });
}

/** The value of `${agent.*}` in a run without a session. */
function ownView({ agent, prepared }: RunEnvironment, env: RunsDeps['env']): JsonObject {
  const { manifest } = agent;
  const defaults = variableDefaults(manifest);
  const values = Object.entries(prepared.derived?.initial(defaults, {}) ?? defaults);
  const variables = new Map(
    values.map(([name, value]) => [name, { value, class: classOf(manifest, name) ?? 'runtime', by: 'seed' }]),
  );
  const state = { ...emptyState(), agent: manifest.name, variables };
  return {
    ...agentView({ state, prepared, env, said: NOTHING_SAID, parent: undefined }),
    session_id: null,
    started_at: null,
  };
}

/**
 * The questions of a run to people. Each is written to the log and to the table of open reviews in one
 * transaction.
 */
export const createRunReviews = (
  journal: RunJournal,
  clock: Pick<Clock, 'now'>,
  isReleased: () => boolean,
  asking?: RunQuestions,
): RunReviews => ({
  ...(asking === undefined ? {} : { ask: asking.put }),
  open(request, cause) {
    const writes = [rowOfRun(request, journal.state, clock.now())];
    journal.append({ type: 'review.requested', ...request }, cause, { writes });
  },
  close(review, end) {
    const { id, reviews } = journal.state;
    const open = reviews.find((each) => each.review === review);
    // The question stays open if the run is suspended or released.
    if (open === undefined || open.choice !== undefined || isReleased()) return;
    journal.append({ type: 'review.resolved', review, ...end }, undefined, { writes: closeRow(review, id) });
  },
});

export interface LinkDeps {
  readonly store: Store;
  readonly run: string;
  readonly workflow: string;
  readonly session: string;
  readonly readAgent: () => Promise<JsonObject>;
}

/** Final statuses of a session. Nobody reads its inbox any more. */
const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled']);

function createSessionLink({ store, run, workflow, session, readAgent }: LinkDeps): SessionLink {
  let agent: Promise<JsonObject> | undefined;
  return {
    session,
    agent() {
      agent ??= readAgent();
      return agent;
    },
    async ask(key, act, cause) {
      const info = await store.info(session);
      if (info === undefined || OVER.has(info.status)) return false;
      const message: AskMessage = { run, workflow, key, act, cause };
      await store.send(session, { kind: RUN_ASKS, from: run, body: JSON.parse(JSON.stringify(message)) });
      return true;
    },
  };
}

/** How long a run stays open for the next message of its client. */
const LINGER_MS = 60_000;

/** Keeps the run of an MCP client open for a while. */
export interface Linger {
  /**
   * Returns whether the run stays open. If so, its log says that it waits, and `release` is called if no
   * message arrives in time.
   */
  hold(waits: Waits, release: () => void): boolean;
  /** Call it when the run has ended or is released. */
  end(): void;
}

/**
 * Resuming a run, reading its log and releasing it again are separate commits. While the run stays open, a
 * claim costs two commits instead of five. Messages from other processes still arrive, and a crash loses
 * nothing, because everything is on the log.
 */
function createLinger({ journal, clock }: { readonly journal: RunJournal; readonly clock: Clock }): Linger {
  const { state } = journal;
  let disarm: () => void = () => undefined;
  return {
    hold(waits, release) {
      disarm();
      // A called run is suspended together with its caller.
      if (state.origin.parent !== undefined || waits.for !== WAITS_FOR_CLIENT || waits.due !== undefined)
        return false;
      journal.append({ type: 'workflow.waiting', for: waits.for });
      const { seq } = state;
      disarm = clock.after(LINGER_MS, () => {
        if (state.seq === seq) release();
      });
      return true;
    },
    end: () => disarm(),
  };
}

/** Types of steps that call something. Other steps only act on the run and its session. */
const CALLS: ReadonlySet<SimpleStep['type']> = new Set([
  'tool',
  'relic',
  'agent',
  'llm',
  'workflow',
  'script',
]);

/** Wraps the calls of steps with the hooks of the agent, the workflow and the step. */
export function withStepHooks(
  executors: StepExecutors,
  hooksOf: HooksOf,
  signal: AbortSignal,
): StepExecutors {
  return {
    compensate: executors.compensate,
    async ready(place) {
      const { step, address } = place;
      const ready = await executors.ready(place);
      const hooks = CALLS.has(step.type) ? hooksOf(step) : undefined;
      if (hooks === undefined) return ready;
      const call = { id: address, kind: step.type, name: targetOf(step) };
      const input = await hooks.before({ ...call, parameters: ready.input, signal });
      return { ...ready, input, run: (created) => around(hooks, ready, call, created) };
    },
  };
}

async function around(
  hooks: StepHooks,
  ready: PreparedStep,
  named: Pick<StepCall, 'id' | 'kind' | 'name'>,
  call: StepAttempt,
): Promise<Awaited<ReturnType<PreparedStep['run']>>> {
  const asked: StepCall = { ...named, parameters: call.input, cause: call.cause, signal: call.signal };
  try {
    return await hooks.after(asked, await ready.run(call));
  } catch (thrown) {
    const isLast = call.attempt > (call.step.retry?.max ?? 0);
    if (isLast && !call.signal.aborted) await hooks.failed(asked, toRuntimeError(thrown).toJSON());
    throw thrown;
  }
}

const targetOf = (step: SimpleStep): string =>
  'target' in step && step.target !== undefined ? step.target : step.name;

const ALIVE: ReadonlySet<string> = new Set(['running', 'waiting']);

/**
 * Cancels the runs and sessions that steps of an ended run had called and that this process did not wait for.
 * A suspended run is resumed only to be cancelled, and its steps do not start again.
 */
export async function cancelCalled(
  { store, engine }: RunsDeps,
  state: RunState,
  workflow: WorkflowManifest,
): Promise<void> {
  let types: ReadonlyMap<string, string> | undefined;
  const end = (called: string) =>
    cancelIfUnowned({ store, engine }, called, state.id, 'The run that called it has ended.');
  for (const known of state.steps.values()) {
    if (known.status !== 'cancelled') continue;
    types ??= new Map(allSteps(workflow).map(({ name, type }) => [name, type]));
    const type = types.get(stepName(known.step));
    if (type === 'workflow') await end(childKey(state, known.step, 'run'));
    else if (type === 'agent') await end(childKey(state, known.step, 'ses'));
    else if (type === 'plan')
      for (const action of openActions(known))
        for (const called of new Set(PREFIXES.map((prefix) => childKey(state, action, prefix))))
          await end(called);
  }
}

/** An action of a plan may have called a run or a session. The plan does not say which. */
const PREFIXES = ['run', 'ses'] as const;

/** Cancels a run or a session that exists and that nobody works on. */
export async function cancelIfUnowned(
  { store, engine }: Pick<RunsDeps, 'store' | 'engine'>,
  called: string,
  by: string,
  reason: string,
): Promise<void> {
  const info = await store.info(called);
  if (info === undefined || !ALIVE.has(info.status) || info.owner !== undefined) return;
  const message = { kind: RUN_CANCEL, from: by, body: reason };
  if (info.kind === 'run') await engine.signal('run', called, message);
  else await store.send(called, message);
}
