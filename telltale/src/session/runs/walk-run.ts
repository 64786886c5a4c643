import { takeSlotFor } from '../../engine/slots.ts';
import { emptyState } from '../../events/state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { allSteps } from '../../workflows/all-steps.ts';
import { closeChangedSteps } from '../../workflows/changes/follow-change.ts';
import { createScope } from '../../workflows/create-scope.ts';
import { createDecisions } from '../../workflows/decisions/create-decisions.ts';
import { runContext } from '../../workflows/decisions/run-context.ts';
import type { Leaves } from '../../workflows/leaf.ts';
import { endOnLog } from '../../workflows/machine/outcome.ts';
import { runMachine } from '../../workflows/machine/run-machine.ts';
import { ownExpressions } from '../../workflows/own-expressions.ts';
import type { ReadTemplates } from '../../workflows/read-templates.ts';
import type { SessionLink } from '../../workflows/session-link.ts';
import { createLeaves } from '../../workflows/steps/create-leaves.ts';
import type { LeafEdges } from '../../workflows/steps/leaf-edges.ts';
import { createTemplateReader } from '../../workflows/template-reader.ts';
import { agentView } from '../agent-view.ts';
import { costWith } from '../cost.ts';
import type { Lead } from '../guide/lead.ts';
import { createStepHooks } from '../hooks/create-step-hooks.ts';
import { hasHooks } from '../hooks/hook-types.ts';
import { NOTHING_SAID } from '../last-said.ts';
import { createLateInvoke } from '../session-invoke.ts';
import { classOf } from '../variables/declared-variables.ts';
import { variableDefaults } from '../variables/start-variables.ts';
import { runAgentStep } from './agent-step.ts';
import { createLinger } from './client-linger.ts';
import { createClientWorkers } from './client-worker.ts';
import type { Runs } from './create-runs.ts';
import type { DriveCall, Driven, RunWalkEnd } from './drive-run.ts';
import { endCalled, endIfLeft } from './end-called.ts';
import { workflowUnknown } from './find-workflow.ts';
import { groupOfRun } from './group-of-run.ts';
import { hookedLeaves } from './hooked-leaves.ts';
import { keepingJournal } from './kept-variables.ts';
import { createLedSessions } from './led-sessions.ts';
import { lendAgents } from './lend-agents.ts';
import { payAsRun } from './pay-for-run.ts';
import type { Realm } from './realm.ts';
import { createRunAsking } from './run-asking.ts';
import type { RunsEdges } from './run-edges.ts';
import { createRunReviews } from './run-reviews.ts';
import { createSessionLink } from './session-link.ts';

type WalkEdges = RunsEdges & { readonly leads: ReadonlyMap<string, Lead> };

/** What walks the runs of a runtime. What their manifests say is remembered from run to run. */
export function createWalkRun(edges: WalkEdges, callRun: Runs['call']): (call: DriveCall) => Driven {
  const read = createTemplateReader();
  return (call) => walkRun(edges, callRun, read, call);
}

/** Puts together what walks a run: the machine, what its steps do and how its decisions are taken. */
function walkRun(
  edges: WalkEdges,
  callRun: Runs['call'],
  read: ReadTemplates,
  { held, realm, entry }: DriveCall,
): Driven {
  const journal = keepingJournal(held.journal, realm);
  const { state } = journal;
  const { clock, random } = edges;
  const { prepared, workflow } = realm;
  const letGo = new AbortController();
  const cancel = new AbortController();
  let cancelledBy = 'runtime';
  let released = false;
  let seen = state.seq;
  const isLetGo = () => released || letGo.signal.aborted;
  const session = linkOf(edges, state.origin.session, state.id, workflow.name, prepared);
  const scope = createScope({
    state,
    workflow,
    session,
    agentOf: () => ownView(realm, edges.env),
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
    ...{ journal, scope, invoke, hasEnded },
    artifacts: { read: async (...asked) => (await prepared.desk()).artifacts.read(...asked) },
    components: [...manifest.components, ...workflow.components],
    context: async (step) => runContext(state, step, await metadata(), await inherited(), expressions),
  });
  const linger = entry.lingers === true ? createLinger({ journal, clock }) : undefined;
  const asking = edges.ask && createRunAsking(edges.ask, journal, clock, edges.onError);
  const group = groupOfRun(state);
  const called = { run: state.id, group, agents: state.origin.agents };
  const workers = createLedSessions({
    ...{ runs: edges, realm, state, journal, isLetGo },
    metadata: async () => (session === undefined ? undefined : await metadata()),
    bound: () => edges.leads.get(state.origin.session?.id ?? ''),
    claims: entry.claims,
  });
  const lent = lendAgents(edges, prepared);
  const leafEdges: LeafEdges = {
    ...{ workflow, journal, clock, scope, decisions, session, isLetGo },
    takeSlot: takeSlotFor(edges.slots, group),
    enterOnce: () => edges.underWay.enter(state.id),
    targets: prepared.targets,
    world: prepared.targets.edges,
    ask: prepared.targets.ask,
    costOf: (usage, model) => costWith(model, usage),
    reviews: createRunReviews(journal, clock, isLetGo, asking),
    workers: state.origin.client === undefined ? workers : createClientWorkers(journal, entry.claims),
    handsOf: lent.handsOf,
    runAgent: ({ key, step, agent, input, vars, signal, cause, park }) =>
      runAgentStep(edges, realm, {
        ...{ session: key, step, agent, input, vars, signal, cause, park, isLetGo },
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
        ...{ id: key, workflow: called, ground: realm, input, cause, signal, isLetGo },
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
    if (!isHooked) return createLeaves(leafEdges);
    await held.made; // they are asked before their step is on the log
    const shown = await metadata();
    const below = await inherited();
    const hooksOf = createStepHooks({
      ...{ agent: manifest, workflow, journal, clock, invoke },
      command: prepared.targets.command,
      context: (step) => runContext(state, step, shown, below, expressions),
      metadata: () => shown,
    });
    return hookedLeaves(createLeaves({ ...leafEdges, hooksOf }), hooksOf, hasEnded());
  };
  /** What an accepted change has left open ends before the walk: its questions, and what it called. */
  const closeChanged = async (): Promise<void> => {
    if (state.change === undefined) return;
    const left = closeChangedSteps(journal, workflow, clock.now());
    for (const { review, step, answer } of state.reviews) {
      const asker = state.steps.get(step);
      if (answer === undefined && asker !== undefined && endOnLog(asker) !== undefined)
        leafEdges.reviews.close(review, { ...RUN_OVER, note: 'The workflow was changed.' });
    }
    for (const called of left) await endIfLeft(edges, called, state.id, 'The workflow was changed.');
  };
  return {
    async run(): Promise<RunWalkEnd> {
      await closeChanged();
      const begunAt = state.seq; // the walk sees what is on the log by now
      const end = await runMachine({
        ...{ workflow, journal, decisions, scope, clock, random },
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
      await endCalled(edges, state, workflow);
      // A step that was not walked to again cannot withdraw its question itself.
      for (const { review, answer } of state.reviews)
        if (answer === undefined) leafEdges.reviews.close(review, RUN_OVER);
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
  { store, snapshots }: RunsEdges,
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
function ownView({ agent, prepared }: Realm, env: RunsEdges['env']): JsonObject {
  const { manifest } = agent;
  const defaults = variableDefaults(manifest);
  const values = Object.entries(prepared.derived?.initial(defaults, {}) ?? defaults);
  const variables = new Map(
    values.map(([name, value]) => [name, { value, class: classOf(manifest, name) ?? 'runtime', by: 'seed' }]),
  );
  const state = { ...emptyState(), agent: manifest.name, variables };
  return {
    ...agentView({ state, prepared, env, said: NOTHING_SAID, parent: undefined }),
    ...{ session_id: null, started_at: null },
  };
}
