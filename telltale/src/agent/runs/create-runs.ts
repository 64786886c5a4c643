import type { Engine } from '../../engine/engine.ts';
import { readRun, readRunEvents, recoverRuns } from '../../engine/read-run.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { StartedRun } from '../../log/state.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isInCode } from '../define/agent-code.ts';
import { cancelUnownedRun, wayToEnd } from '../ending/cancel-unowned.ts';
import type { Guidance } from '../guided/guidance.ts';
import { stateAt } from '../log/read-log.ts';
import { manualLimit, type StartingRun } from '../triggers/concurrency-limit.ts';
import { findDeadlock } from '../triggers/find-deadlock.ts';
import { listen } from '../triggers/listen.ts';
import { createRunQueue, type RunQueue, wakeQueuedRun } from '../triggers/run-queue.ts';
import { classOf } from '../variables/declared-variables.ts';
import { checkGiven } from '../variables/session-variables.ts';
import { acceptRunChanges, planRunChanges } from './accept-changes.ts';
import { createClientRuns } from './client-runs.ts';
import type { ClientRuns, ClientRunsOptions } from './client-worker.ts';
import { type CalledRun, callRun, cancelRun, createLiveRun } from './live-run.ts';
import { beginRun, createRun, type HeldRun, readInput } from './open-run.ts';
import {
  type NewRun,
  type RunAgentSource,
  type RunAgentSourceDeps,
  type RunsDeps,
  readAgentSource,
} from './run-environment.ts';
import { runChangedInCode, runEnded, runLeads, runOfOther } from './run-errors.ts';
import { type EndMessage, RUN_CANCEL, RUN_SIGNAL, runEndMessage } from './run-messages.ts';
import {
  type CreateRunWalk,
  createQueuedRun,
  createRunRegistry,
  type RunEntry,
  type RunRegistry,
} from './run-registry.ts';
import {
  groupOfRun,
  isOver,
  type Listening,
  type LoadedWorkflow,
  type RunOptions,
  type Workflows,
  workflowsOf,
} from './run-types.ts';
import { storedVariablesOf } from './stored-variables.ts';
import { watchWaitingRun } from './waiting-runs.ts';
import { workOnRun } from './work-on-run.ts';

/** All runs of a runtime. */
export interface Runs extends Workflows {
  /**
   * Starts the run of a committed `trigger.fired`, or continues it. Resolves with its end if it has ended.
   */
  begin(triggered: TriggeredRun): Promise<EndMessage | undefined>;
  /** Calls a workflow for an action or a step, and waits for its end. */
  call(call: CalledRun): Promise<Json>;
  end(run: string, reason: string, by: string): Promise<void>;
  /** Has a suspended run worked on again, because its caller continues. */
  wakeCalled(run: string): void;
  forClients(options?: ClientRunsOptions): ClientRuns;
  /** Stops working on a run in this process and writes nothing more. Another process can resume it. */
  release(run: string): void;
  /** Releases all runs except those to keep. `group` is the session or run whose turn a run uses. */
  releaseExcept(isKept: (run: string, group: string) => boolean): void;
  /** The guided sessions of this process, by session id. */
  readonly leads: Map<string, Guidance>;
  /** Call it once no run is being worked on. */
  close(): Promise<void>;
  /** Forwards an event to a run that exists. */
  pass(run: string, event: string, data: JsonObject, from: string): Promise<void>;
}

export type LoadRunWalk = (
  deps: RunsDeps & { readonly registry: RunRegistry; readonly leads: ReadonlyMap<string, Guidance> },
  call: Runs['call'],
) => CreateRunWalk;

export function createRuns(given: RunsDeps, loadRunWalk: LoadRunWalk): Runs {
  const { store, engine, clock } = given;
  const registry = createRunRegistry();
  const runQueue = createRunQueue({
    clock,
    tables: store.tables,
    info: store.info,
    onError: given.onError,
    cancel: (run, reason) => cancelForOther(run, reason),
    wake: wakeQueuedRun(store),
    deadlock: (run, under) => findDeadlock(store, run, under),
  });
  const deps = { ...given, registry, runQueue, leads: new Map<string, Guidance>() };
  /** Also cancels a run that this process could not resume, for example because its manifest has changed. */
  const cancelForOther = async (run: string, reason: string): Promise<void> => {
    const state = await readRun(store, run);
    if (isOver(state.status) || (await cancelUnresumable(deps, state, reason, 'trigger'))) return;
    await cancelRun(deps, run, reason, 'trigger');
  };
  const call: Runs['call'] = (called) => callRun(deps, called);
  const pass: Runs['pass'] = (run, event, data, from) =>
    engine.signal('run', run, { kind: RUN_SIGNAL, from, body: { event, data } });
  const createRunWalk = loadRunWalk(deps, call);
  const isLeftToOthers = (agent: RunAgentSource['agent']) => engine.isFull() && !isInCode(agent);
  const requestWork = (run: string) => {
    const entry = registry.entry(run);
    registry.resume(entry);
    entry.isRequested = true;
  };
  const wake = (run: string) => {
    requestWork(run);
    engine.dispatch('run', run);
  };
  const pendingStarts = createPendingStarts(engine);
  const listenings = new Set<Listening>();
  engine.onWork('run', (run, signal, taken) => workOnRun({ ...deps, createRunWalk }, run, signal, taken));

  return {
    call,
    pass,
    close() {
      for (const listening of listenings) listening.close();
      return registry.close();
    },
    end: (run, reason, by) => cancelRun(deps, run, reason, by),
    wakeCalled(run) {
      requestWork(run);
      registry.entry(run).liftsQuarantine = true;
      engine.dispatch('run', run, 'called');
    },
    release: (run) => registry.find(run)?.release?.(),
    releaseExcept(isKept) {
      for (const { run, live, release } of registry.live())
        if (live !== undefined && !isKept(run, groupOfRun(live.journal.state))) release?.();
    },
    leads: deps.leads,
    begin: pendingStarts.watch((triggered: TriggeredRun) => beginTriggered(deps, triggered)),
    listen(agent, options) {
      const listening = listen(
        {
          engine,
          clock,
          tables: store.tables,
          crashPoint: deps.crashPoint,
          onError: deps.onError,
          info: store.info,
          cancel: cancelForOther,
          start: (manifest, trigger, seen, id) =>
            beginRequested(
              deps,
              { manifest, agent },
              { id, onWaiting: 'hold', queued: isLeftToOthers(agent) },
              { trigger: { id: trigger, seen } },
            ),
        },
        agent,
        options,
      );
      const close = () => {
        listenings.delete(listening);
        listening.close();
      };
      listenings.add(listening);
      return { ...listening, close };
    },
    start(workflow, options) {
      options?.signal?.throwIfAborted();
      const { manifest, agent } = workflow;
      const input = readInput(agent, manifest, (options?.input ?? {}) as JsonObject);
      return beginRequested(deps, workflow, { ...options, input }).run;
    },
    async changes(run, { workflow, acceptChanges, signal } = {}) {
      const state = await readRun(store, run, undefined, signal);
      if (isOver(state.status)) throw runEnded(run, state.status);
      const agent = workflow?.agent ?? (await readAgentSource(state, deps, 'any')).agent;
      return (await planRunChanges(deps, state, agent, acceptChanges)).changes;
    },
    async resume(run, { workflow, acceptChanges = false, by, onWaiting, signal } = {}) {
      signal?.throwIfAborted();
      const state = await readRun(store, run, undefined, signal);
      if (isOver(state.status)) throw runEnded(run, state.status);
      if (state.origin.parent !== undefined) throw runOfOther(run, state.origin.parent.run);
      if (state.origin.leads === true) throw runLeads(run, state.origin.session?.id ?? '');
      const accepts = acceptChanges !== false;
      // Resuming a run that another process works on is refused below. Its manifest need not be read for
      // that.
      const agentSource =
        workflow !== undefined
          ? { agent: workflow.agent, model: state.model }
          : accepts
            ? await readAgentSource(state, deps, 'any')
            : undefined;
      if (agentSource !== undefined && agentSource.agent.hash !== state.manifest.hash && !accepts)
        throw runChangedInCode(run, state.manifest.path);
      if (agentSource !== undefined && accepts)
        await acceptRunChanges(deps, state, agentSource.agent, acceptChanges, by ?? 'program');
      const entry = registry.entry(run);
      registry.resume(entry); // its log does not say why it was suspended if it waits for an agent
      if (agentSource !== undefined) entry.agentSource = agentSource;
      if (by !== undefined) entry.resumedBy = by;
      entry.liftsQuarantine = true;
      const place = async () => void engine.dispatch('run', run, 'here');
      return createLiveRun(deps, run, place(), { onWaiting, signal });
    },
    wake,
    goOn: wake,
    async cancel(run, reason = 'asked to', from = 'user') {
      const state = await readRun(store, run);
      if (!isOver(state.status) && (await cancelUnresumable(deps, state, reason, from))) return;
      registry.entry(run).liftsQuarantine = true; // it continues until it has ended
      await engine.signal('run', run, { kind: RUN_CANCEL, from, body: reason });
    },
    async signal(run, event, data = {}, from = 'user') {
      await readRun(store, run);
      await pass(run, event, data, from);
    },
    events: (run, from = 1, { signal } = {}) => readRunEvents(store, run, from, signal),
    state: (run, seq, { signal } = {}) => stateAt(store, run, seq, readRun(store, run, seq, signal)),
    forClients: (options) => createClientRuns(deps, options),
    recover: (except) =>
      recoverRuns(engine, store, clock.now(), (info) => watchWaitingRun(deps, info), except),
    idle: pendingStarts.idle,
    active: pendingStarts.active,
    under: pendingStarts.active,
  };
}

/** Tracks the runs that are being created. The engine does not know them until they are dispatched. */
export interface PendingStarts extends Pick<Workflows, 'idle' | 'active'> {
  watch<Given extends { readonly started: { readonly run: string } }, Begun>(
    begin: (given: Given) => Promise<Begun>,
  ): (given: Given) => Promise<Begun>;
}

function createPendingStarts(engine: Pick<Engine, 'idle' | 'busy'>): PendingStarts {
  const starting = new Map<string, Promise<unknown>>();
  return {
    watch: (begin) => async (triggered) => {
      const { run } = triggered.started;
      const begun = begin(triggered);
      starting.set(run, begun);
      try {
        return await begun;
      } finally {
        starting.delete(run);
      }
    },
    async idle() {
      do {
        await Promise.allSettled(starting.values());
        await engine.idle();
      } while (starting.size > 0);
    },
    active: () => {
      const worked = engine.busy().flatMap(({ kind, stream }) => (kind === 'run' ? [stream] : []));
      return [...new Set([...starting.keys(), ...worked])];
    },
  };
}

/**
 * Errors that mean the definition of a run has changed, so no process with this definition can resume the
 * run.
 */
const CHANGED: ReadonlySet<string> = new Set(['manifest_changed', 'no_workflow']);

/**
 * Ends a run at once if nobody works on it and this process could not resume it. A cancel message would wait
 * in its inbox forever. Returns false if some process can end it properly. Throws if completed steps may have
 * to be compensated and the definition that says how is missing.
 */
async function cancelUnresumable(
  deps: Pick<RunsDeps, 'store' | 'clock'> & RunAgentSourceDeps & { readonly registry: RunRegistry },
  state: RunState,
  reason: string,
  by: string,
): Promise<boolean> {
  const { store, clock, registry } = deps;
  const info = await store.info(state.id);
  if (info === undefined || info.owner !== undefined || registry.find(state.id)?.agentSource !== undefined)
    return false;
  const missing = await missingOf(deps, state);
  if (missing === undefined) return false;
  const way = await wayToEnd(store, info);
  if (way === 'at once') return (await cancelUnownedRun(store, state.id, { reason, by, clock })) !== 'owned';
  if (way === 'by working on it' && CHANGED.has(missing.code)) throw cannotUndo(state);
  return false;
}

async function missingOf(deps: RunAgentSourceDeps, state: RunState): Promise<RuntimeError | undefined> {
  try {
    const { agent } = await readAgentSource(state, deps);
    if (workflowsOf(agent).has(state.workflow)) return undefined;
    return new RuntimeError('no_workflow', `There is no workflow "${state.workflow}" any more.`);
  } catch (thrown) {
    return toRuntimeError(thrown);
  }
}

const cannotUndo = ({ id, manifest: { path } }: RunState) =>
  new RuntimeError(
    'manifest_changed',
    `${id} has completed steps, which may have to be undone, and the manifest ${path} is not the one that it started with.`,
    {
      hint: `Restore the manifest and cancel again, or end the run without undoing anything: telltale cancel ${id} --force`,
    },
  );

/** Starts a run for a caller, or for a trigger without a session, such as a webhook or a schedule. */
function beginRequested(
  deps: RunsDeps & { readonly registry: RunRegistry; readonly runQueue: RunQueue },
  { manifest, agent }: LoadedWorkflow<unknown>,
  { input = {}, vars, id: asked, signal, onWaiting, queued = false }: RunOptions<unknown> = {},
  of: Pick<RunOrigin, 'trigger'> = {},
): StartingRun {
  const { registry, engine, ids } = deps;
  const id = asked ?? ids.next('run');
  const make = async () => {
    if (vars !== undefined) checkVars(manifest, agent.manifest, vars);
    const run: NewRun = {
      id,
      workflow: manifest,
      agentSource: { agent },
      input: input as JsonObject,
      vars,
      balance: agent.manifest.budget?.balance,
      origin: { ...of, chain: [manifest.name], agents: [agent.manifest.name] },
    };
    const gate = manualLimit(manifest, agent.manifest.name, run.origin);
    const isOurs =
      asked === undefined && !queued && gate === undefined && storedVariablesOf(run).length === 0;
    const held = isOurs ? beginRun(deps, run) : await createQueuedRun(deps, gate, run);
    if (queued) return handOver(held);
    const entry = registry.entry(id);
    entry.agentSource = { agent };
    entry.fresh = held;
    engine.dispatch('run', id, 'here');
    await held.created;
  };
  const created = make();
  const run = createLiveRun(deps, id, created, { onWaiting, signal });
  if (queued) created.then(run.interrupt, () => undefined).then(() => registry.forget(id));
  return { run, created };
}

/** Checks who may set the variables. A declaration in the workflow takes precedence over one in its agent. */
function checkVars(workflow: WorkflowManifest, agent: AgentManifest, vars: JsonObject): void {
  for (const [name, value] of Object.entries(vars))
    checkGiven(classOf(workflow, name) === undefined ? agent : workflow, { [name]: value }, 'user');
}

/** A run that a session's trigger started. */
export interface TriggeredRun {
  readonly session: string;
  /** The session or run whose turn it uses. */
  readonly group: string;
  readonly agentSource: RunAgentSource;
  readonly started: StartedRun;
  readonly balance?: number | undefined;
  readonly agents: readonly string[];
}

/** Creates the run of a committed `trigger.fired`, or continues it. Returns its end if it has ended. */
async function beginTriggered(
  deps: RunsDeps & { readonly registry: RunRegistry },
  { session, group, agentSource, started, balance, agents }: TriggeredRun,
): Promise<EndMessage | undefined> {
  const { store, engine, registry } = deps;
  const { run, trigger, seen, chain, seq, depth } = started;
  const known = await store.info(run);
  if (known === undefined || known.head === 0) {
    const workflow = workflowsOf(agentSource.agent).get(started.workflow);
    if (workflow === undefined) return endedWithoutWorkflow(started, session);
    const cause: Cause = { stream: session, seq, depth };
    const held = await createRun(deps, {
      id: run,
      workflow,
      agentSource,
      input: {},
      balance,
      cause,
      origin: { session: { id: session, seq }, trigger: { id: trigger, seen }, chain, agents },
    });
    registry.entry(run).fresh = held;
  } else {
    const state = await readRun(store, run);
    // The log of a forked session also names runs of the original session.
    if (state.origin.session?.id !== session) return endedInOtherSession(started, session);
    if (isOver(state.status)) return runEndMessage(state);
  }
  const entry = registry.entry(run);
  entry.agentSource = agentSource;
  const how = isInCode(agentSource.agent) ? 'here' : undefined;
  if (engine.dispatch('run', run, how, group) === 'elsewhere') await offerToOthers(registry, entry);
  return undefined;
}

const endedWithoutWorkflow = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: {
    status: 'failed',
    error: toRuntimeError(new Error(`The agent no longer has the workflow "${workflow}".`)).toJSON(),
  },
});

const endedInOtherSession = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: { status: 'cancelled', reason: 'It belongs to the session that this one was forked from.' },
});

/** This process has no capacity for the run, so it releases the run's stream for another process. */
async function offerToOthers(registry: RunRegistry, entry: RunEntry): Promise<void> {
  const { fresh, run } = entry;
  entry.fresh = undefined;
  if (entry.listeners.size === 0) registry.forget(run);
  if (fresh !== undefined) await handOver(fresh);
}

/** Releases a run that still has work to do. Recovery finds it. */
async function handOver({ journal, writer }: HeldRun): Promise<void> {
  try {
    await journal.flushed();
  } finally {
    await writer.release();
  }
}
