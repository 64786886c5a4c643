import type { RunJournal } from '../../engine/run-log.ts';
import { takeSlotFor } from '../../engine/slots.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { emptyState } from '../../log/state.ts';
import type { Store } from '../../store/store.ts';
import { closeChangedSteps } from '../../workflows/changes/follow-change.ts';
import { createDecisions } from '../../workflows/decisions/create-decisions.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import { runMachine } from '../../workflows/machine/run-machine.ts';
import type { Waits } from '../../workflows/machine/walk.ts';
import { endOnLog } from '../../workflows/machine/walk.ts';
import type { ReadTemplates } from '../../workflows/read-templates.ts';
import { createTemplateReader } from '../../workflows/read-templates.ts';
import type { SessionLink } from '../../workflows/scope.ts';
import { createScope, ownExpressions, runContext } from '../../workflows/scope.ts';
import type { Leaves } from '../../workflows/step-executor.ts';
import { createLeaves } from '../../workflows/steps/create-leaves.ts';
import type { LeafDeps, RunReviews } from '../../workflows/steps/step-deps.ts';
import { agentView, NOTHING_SAID } from '../agent-view.ts';
import { createLateInvoke } from '../artifact-service.ts';
import { costWith } from '../cost.ts';
import type { Lead } from '../guided/guidance.ts';
import { hasHooks } from '../hooks/hook-types.ts';
import { createStepHooks } from '../hooks/session-hooks.ts';
import { closeRow, rowOfRun } from '../reviews/review-table.ts';
import { classOf } from '../variables/declared-variables.ts';
import { variableDefaults } from '../variables/session-variables.ts';
import { runAgentStep } from './agent-step.ts';
import { createClientWorkers, WAITS_FOR_CLIENT } from './client-worker.ts';
import type { Runs } from './create-runs.ts';
import { endCalled, endIfLeft } from './end-called.ts';
import { workflowUnknown } from './find-workflow.ts';
import { hookedLeaves } from './hooked-leaves.ts';
import { keepingJournal } from './kept-variables.ts';
import { createLedSessions } from './led-sessions.ts';
import { lendAgents } from './lend-agents.ts';
import { payAsRun } from './pay-for-run.ts';
import type { Realm, RunsDeps } from './run-environment.ts';
import { type AskMessage, RUN_ASKS } from './run-messages.ts';
import { createRunAsking, type RunAsking } from './run-questions.ts';
import type { DriveCall, Driven, RunWalkEnd } from './run-registry.ts';
import { groupOfRun } from './run-types.ts';

type WalkRunWalkDeps = RunsDeps & { readonly leads: ReadonlyMap<string, Lead> };

/** What walks the runs of a runtime. What their manifests say is remembered from run to run. */
export function createWalkRun(deps: WalkRunWalkDeps, callRun: Runs['call']): (call: DriveCall) => Driven {
  const read = createTemplateReader();
  return (call) => walkRun(deps, callRun, read, call);
}

/** Puts together what walks a run: the machine, what its steps do and how its decisions are taken. */
function walkRun(
  deps: WalkRunWalkDeps,
  callRun: Runs['call'],
  read: ReadTemplates,
  { held, realm, entry }: DriveCall,
): Driven {
  const journal = keepingJournal(held.journal, realm);
  const { state } = journal;
  const { clock, random } = deps;
  const { prepared, workflow } = realm;
  const letGo = new AbortController();
  const cancel = new AbortController();
  let cancelledBy = 'runtime';
  let released = false;
  let seen = state.seq;
  const isLetGo = () => released || letGo.signal.aborted;
  const session = linkOf(deps, state.origin.session, state.id, workflow.name, prepared);
  const scope = createScope({
    state,
    workflow,
    session,
    agentOf: () => ownView(realm, deps.env),
    read,
  });
  const { manifest } = realm.agent;
  const invoke = createLateInvoke(prepared.desk, () => ({
    id: state.id,
    calls: state.invokes,
    cost: manifest.budget?.costs.artifact ?? 0,
    balance: () => state.balance,
  }));
  // Made where somebody asks for it: most walks ask nobody.
  let ended: AbortSignal | undefined;
  const hasEnded = (): AbortSignal => {
    ended ??= AbortSignal.any([letGo.signal, cancel.signal]);
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
    artifacts: { read: async (...asked) => (await prepared.desk()).artifacts.read(...asked) },
    components: [...manifest.components, ...workflow.components],
    context: async (step) => runContext(state, step, await metadata(), await inherited(), expressions),
  });
  const linger = entry.lingers === true ? createLinger({ journal, clock }) : undefined;
  const asking = deps.ask && createRunAsking(deps.ask, journal, clock, deps.onError);
  const group = groupOfRun(state);
  const called = { run: state.id, group, agents: state.origin.agents };
  const workers = createLedSessions({
    runs: deps,
    realm,
    state,
    journal,
    isLetGo,
    metadata: async () => (session === undefined ? undefined : await metadata()),
    bound: () => deps.leads.get(state.origin.session?.id ?? ''),
    claims: entry.claims,
  });
  const lent = lendAgents(deps, prepared);
  const leafDeps: LeafDeps = {
    workflow,
    journal,
    clock,
    scope,
    decisions,
    session,
    isLetGo,
    takeSlot: takeSlotFor(deps.slots, group),
    enterOnce: () => deps.underWay.enter(state.id),
    targets: prepared.targets,
    world: prepared.targets.deps,
    ask: prepared.targets.ask,
    costOf: (usage, model) => costWith(model, usage),
    reviews: createRunReviews(journal, clock, isLetGo, asking),
    workers: state.origin.client === undefined ? workers : createClientWorkers(journal, entry.claims),
    handsOf: lent.handsOf,
    runAgent: ({ key, step, agent, input, vars, signal, cause, park }) =>
      runAgentStep(deps, realm, {
        session: key,
        step,
        agent,
        input,
        vars,
        signal,
        cause,
        park,
        isLetGo,
        ...called,
        metadata: async () => (session === undefined ? undefined : await metadata()),
        onUsage: (usage, cost_usd, model) =>
          journal.append({ type: 'model.used', step, model, usage, cost_usd }, cause),
      }),
    runWorkflow({ key, step, workflow: name, input, signal, cause, park }) {
      const called = prepared.workflows.get(name);
      if (called === undefined)
        return Promise.reject(workflowUnknown(realm.agent, name, [...prepared.workflows.keys()]));
      const { session: of, client, identity, chain, agents } = state.origin;
      return callRun({
        id: key,
        workflow: called,
        ground: realm,
        input,
        cause,
        signal,
        isLetGo,
        balance: state.balance,
        origin: {
          ...(of === undefined ? {} : { session: of }),
          ...(client === undefined ? {} : { client }),
          ...(identity === undefined ? {} : { identity }),
          parent: { run: state.id, step },
          chain: [...chain, name],
          agents,
        },
        onWaiting: ({ for: what, due }) => park(`${name}: ${what}`, due),
        onUsed: (used) => payAsRun(journal, { run: key, workflow: name, step, cause }, used),
      });
    },
  };
  const leavesWithHooks = async (): Promise<Leaves> => {
    const isHooked =
      hasHooks(manifest.hooks) ||
      hasHooks(workflow.hooks) ||
      allSteps(workflow).some(({ hooks }) => hasHooks(hooks));
    if (!isHooked) return createLeaves(leafDeps);
    await held.made; // they are asked before their step is on the log
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
    return hookedLeaves(createLeaves({ ...leafDeps, hooksOf }), hooksOf, hasEnded());
  };
  /** What an accepted change has left open ends before the walk: its questions, and what it called. */
  const closeChanged = async (): Promise<void> => {
    if (state.change === undefined) return;
    const left = closeChangedSteps(journal, workflow, clock.now());
    for (const { review, step, answer } of state.reviews) {
      const asker = state.steps.get(step);
      if (answer === undefined && asker !== undefined && endOnLog(asker) !== undefined)
        leafDeps.reviews.close(review, { ...RUN_OVER, note: 'The workflow was changed.' });
    }
    for (const called of left) await endIfLeft(deps, called, state.id, 'The workflow was changed.');
  };
  return {
    async run(): Promise<RunWalkEnd> {
      await closeChanged();
      const begunAt = state.seq; // the walk sees what is on the log by now
      const end = await runMachine({
        workflow,
        journal,
        decisions,
        scope,
        clock,
        random,
        leaves: await leavesWithHooks(),
        signal: letGo.signal,
        cancel: cancel.signal,
        onParked(waits, letGoLater) {
          const leave = () => {
            released = true;
            seen = Math.max(begunAt, journal.committedSeq());
          };
          const leaveLater = () => {
            leave();
            letGoLater();
          };
          if (linger?.hold(waits, leaveLater) === true) return 'hold';
          if (asking?.hold(leaveLater) === true) return 'hold';
          leave();
          return 'release';
        },
      }).finally(() => {
        linger?.end();
        return lent.giveBack();
      });
      if (state.origin.client === undefined)
        await workers.end(end.kind === 'cancelled' ? { ...end, by: cancelledBy } : end);
      if (end.kind === 'parked' || end.kind === 'stopped') return end;
      await endCalled(deps, state, workflow);
      // A step that was not walked to again cannot withdraw its question itself.
      for (const { review, answer } of state.reviews)
        if (answer === undefined) leafDeps.reviews.close(review, RUN_OVER);
      return end.kind === 'cancelled' ? { ...end, by: cancelledBy } : end;
    },
    cancel(reason, by) {
      if (cancel.signal.aborted) return;
      cancelledBy = by;
      cancel.abort(reason);
    },
    seen: () => seen,
    letGo: (error) => letGo.abort(error),
  };
}

const RUN_OVER = {
  answer: 'withdrawn',
  choice: 'withdrawn',
  by: 'runtime',
  note: 'The run has ended.',
} as const;

function linkOf(
  { store, snapshots }: RunsDeps,
  of: { readonly id: string; readonly seq: number } | undefined,
  run: string,
  workflow: string,
  prepared: Realm['prepared'],
): SessionLink | undefined {
  if (of === undefined) return undefined;
  const readAgent = () => snapshots(of.id, of.seq, prepared);
  return createSessionLink({ store, run, workflow, session: of.id, readAgent });
}

/** What `${agent.*}` shows in a run that belongs to no session. */
function ownView({ agent, prepared }: Realm, env: RunsDeps['env']): JsonObject {
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

/** Questions of a run to people: on its log, and in the table of open ones in the same transaction. */
export const createRunReviews = (
  journal: RunJournal,
  clock: Pick<Clock, 'now'>,
  isLetGo: () => boolean,
  asking?: RunAsking,
): RunReviews => ({
  ...(asking === undefined ? {} : { ask: asking.put }),
  open(request, cause) {
    const writes = [rowOfRun(request, journal.state, clock.now())];
    journal.append({ type: 'review.requested', ...request }, cause, { writes });
  },
  close(review, end) {
    const { id, reviews } = journal.state;
    const open = reviews.find((each) => each.review === review);
    // Where the run only waits, or this process leaves it, the question stays open.
    if (open === undefined || open.choice !== undefined || isLetGo()) return;
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

/** How a session ends where nobody goes on with it: its inbox is read no more. */
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

/** How long a run stays in hand for the next thing that its client sends. */
const LINGER_MS = 60_000;

/** Holds a run of an MCP client for a while. */
export interface Linger {
  /** Whether it is held; then its log says that it waits, and `release` is called when nothing has come for a time. */
  hold(waits: Waits, release: () => void): boolean;
  /** The run has ended or is let go of. */
  end(): void;
}

/**
 * Taking a run up, reading its log and letting go of it again are commits of their own: while it lingers a claim costs
 * two commits, not five. Whatever another process sends reaches it all the same, and a process that is killed has
 * nothing that is not on the log.
 */
function createLinger({ journal, clock }: { readonly journal: RunJournal; readonly clock: Clock }): Linger {
  const { state } = journal;
  let disarm: () => void = () => undefined;
  return {
    hold(waits, release) {
      disarm();
      // What another run called parks with that one.
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
