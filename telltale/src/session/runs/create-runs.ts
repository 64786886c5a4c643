import type { Engine } from '../../engine/engine.ts';
import { readRun, readRunEvents, recoverRuns } from '../../engine/read-run.ts';
import type { Cause } from '../../events/event.ts';
import type { RunOrigin } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import type { StartedRun } from '../../events/state.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/errors.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isInCode } from '../define/agent-code.ts';
import { cancelUnownedRun, wayToEnd } from '../ending/cancel-unowned.ts';
import type { Lead } from '../guided/guidance.ts';
import { stateAt } from '../log/read-log.ts';
import { findCircle } from '../outside/find-circle.ts';
import type { BegunRun } from '../outside/gate.ts';
import { handGate } from '../outside/gate.ts';
import { listen } from '../outside/listen.ts';
import { createTurns, type Turns, wakeForTurn } from '../outside/turns.ts';
import { classOf } from '../variables/declared-variables.ts';
import { checkGiven } from '../variables/session-variables.ts';
import { acceptRunChanges, planRunChanges } from './accept-changes.ts';
import { createClientRuns } from './client-runs.ts';
import type { ClientRuns, ClientRunsOptions } from './client-worker.ts';
import { keptVariables } from './kept-variables.ts';
import { type CalledRun, callRun, cancelRun, createLiveRun } from './live-run.ts';
import type { NewRun } from './new-run.ts';
import { beginRun, createRun, type HeldRun } from './open-run.ts';
import { watchWaiting } from './parked-runs.ts';
import type { RunsDeps } from './run-environment.ts';
import { type Ground, type GroundDeps, readGround } from './run-environment.ts';
import { runChangedInCode, runEnded, runLeads, runOfOther } from './run-errors.ts';
import { type EndMessage, RUN_CANCEL, RUN_SIGNAL } from './run-messages.ts';
import type { DriveRun } from './run-registry.ts';
import { type BoardEntry, createRunBoard, makeInTurn, type RunBoard } from './run-registry.ts';
import type { Listening, LoadedWorkflow, RunOptions, Workflows } from './run-types.ts';
import { groupOfRun, isOver, workflowsOf } from './run-types.ts';
import { endMessage } from './tell-end.ts';
import { workOnRun } from './work-on-run.ts';
import { readInput } from './workflow-input.ts';

/** All runs of a runtime. */
export interface Runs extends Workflows {
  /** Of a `trigger.fired` that is committed. */
  begin(triggered: TriggeredRun): Promise<EndMessage | undefined>;
  /** Calls a workflow for an action or a step, and waits for its end. */
  call(call: CalledRun): Promise<Json>;
  end(run: string, reason: string, by: string): Promise<void>;
  /** Works on a run again that was parked. */
  takeUp(run: string): void;
  forClients(options?: ClientRunsOptions): ClientRuns;
  /** Stops working on a run here, and writes nothing more. */
  letGo(run: string): void;
  /** Stops working on all runs of which that is not so; `group` is who takes turns for one. */
  letGoUnless(isKept: (run: string, group: string) => boolean): void;
  /** Sessions of this process that runs lead, by their ids. */
  readonly leads: Map<string, Lead>;
  /** Once nothing is worked on any more. */
  close(): Promise<void>;
  /** Passes an event on to a run that is known to be there. */
  pass(run: string, event: string, data: JsonObject, from: string): Promise<void>;
}

export type MakeDrive = (
  deps: RunsDeps & { readonly board: RunBoard; readonly leads: ReadonlyMap<string, Lead> },
  call: Runs['call'],
) => DriveRun;

export function createRuns(given: RunsDeps, makeDrive: MakeDrive): Runs {
  const { store, engine, clock } = given;
  const board = createRunBoard();
  const turns = createTurns({
    clock,
    tables: store.tables,
    info: store.info,
    onError: given.onError,
    cancel: (run, reason) => cancelForOther(run, reason),
    wake: wakeForTurn(store),
    circle: (run, under) => findCircle(store, run, under),
  });
  const deps = { ...given, board, turns, leads: new Map<string, Lead>() };
  /** Also where this process could not go on with it: the manifest may be another by now. */
  const cancelForOther = async (run: string, reason: string): Promise<void> => {
    const state = await readRun(store, run);
    if (isOver(state.status) || (await cancelStranded(deps, state, reason, 'trigger'))) return;
    await cancelRun(deps, run, reason, 'trigger');
  };
  const call: Runs['call'] = (called) => callRun(deps, called);
  const pass: Runs['pass'] = (run, event, data, from) =>
    engine.signal('run', run, { kind: RUN_SIGNAL, from, body: { event, data } });
  const drive = makeDrive(deps, call);
  const isLeftToOthers = (agent: Ground['agent']) => engine.isFull() && !isInCode(agent);
  const ask = (run: string) => {
    const entry = board.entry(run);
    board.unpark(entry);
    entry.isAsked = true;
  };
  const beginnings = createBeginnings(engine);
  const listenings = new Set<Listening>();
  engine.onWork('run', (run, signal, taken) => workOnRun({ ...deps, drive }, run, signal, taken));

  return {
    call,
    pass,
    close() {
      for (const listening of listenings) listening.close();
      return board.close();
    },
    end: (run, reason, by) => cancelRun(deps, run, reason, by),
    takeUp(run) {
      ask(run);
      board.entry(run).isReleased = true;
      engine.place('run', run, 'called');
    },
    letGo: (run) => board.find(run)?.letGo?.(),
    letGoUnless(isKept) {
      for (const { run, live, letGo } of board.live())
        if (live !== undefined && !isKept(run, groupOfRun(live.journal.state))) letGo?.();
    },
    leads: deps.leads,
    begin: beginnings.watch((triggered: TriggeredRun) => beginTriggered(deps, triggered)),
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
            beginAsked(
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
      return beginAsked(deps, workflow, { ...options, input }).run;
    },
    async changes(run, { workflow, acceptChanges, signal } = {}) {
      const state = await readRun(store, run, undefined, signal);
      if (isOver(state.status)) throw runEnded(run, state.status);
      const agent = workflow?.agent ?? (await readGround(state, deps, 'any')).agent;
      return (await planRunChanges(deps, state, agent, acceptChanges)).changes;
    },
    async resume(run, { workflow, acceptChanges = false, by, onWaiting, signal } = {}) {
      signal?.throwIfAborted();
      const state = await readRun(store, run, undefined, signal);
      if (isOver(state.status)) throw runEnded(run, state.status);
      if (state.origin.parent !== undefined) throw runOfOther(run, state.origin.parent.run);
      if (state.origin.leads === true) throw runLeads(run, state.origin.session?.id ?? '');
      const accepts = acceptChanges !== false;
      // A run of this process that others work on is refused below, and a changed manifest need not be read for that.
      const ground =
        workflow !== undefined
          ? { agent: workflow.agent, model: state.model }
          : accepts
            ? await readGround(state, deps, 'any')
            : undefined;
      if (ground !== undefined && ground.agent.hash !== state.manifest.hash && !accepts)
        throw runChangedInCode(run, state.manifest.path);
      if (ground !== undefined && accepts)
        await acceptRunChanges(deps, state, ground.agent, acceptChanges, by ?? 'program');
      const entry = board.entry(run);
      board.unpark(entry); // it may have been parked for what its log does not say: an agent that it called
      if (ground !== undefined) entry.ground = ground;
      if (by !== undefined) entry.resumedBy = by;
      entry.isReleased = true;
      const place = async () => void engine.place('run', run, 'here');
      return createLiveRun(deps, run, place(), { onWaiting, signal });
    },
    goOn(run) {
      ask(run);
      engine.place('run', run);
    },
    async cancel(run, reason = 'asked to', from = 'user') {
      const state = await readRun(store, run);
      if (!isOver(state.status) && (await cancelStranded(deps, state, reason, from))) return;
      board.entry(run).isReleased = true; // it goes on to its end
      await engine.signal('run', run, { kind: RUN_CANCEL, from, body: reason });
    },
    async signal(run, event, data = {}, from = 'user') {
      await readRun(store, run);
      await pass(run, event, data, from);
    },
    events: (run, from = 1, { signal } = {}) => readRunEvents(store, run, from, signal),
    state: (run, seq, { signal } = {}) => stateAt(store, run, seq, readRun(store, run, seq, signal)),
    forClients: (options) => createClientRuns(deps, options),
    recover: (except) => recoverRuns(engine, store, clock.now(), (info) => watchWaiting(deps, info), except),
    idle: beginnings.idle,
    under: beginnings.under,
  };
}

/** Knows which runs are being made: until they are placed, the engine has not heard of them. */
export interface Beginnings extends Pick<Workflows, 'idle' | 'under'> {
  watch<Given extends { readonly started: { readonly run: string } }, Begun>(
    begin: (given: Given) => Promise<Begun>,
  ): (given: Given) => Promise<Begun>;
}

function createBeginnings(engine: Pick<Engine, 'idle' | 'busy'>): Beginnings {
  const beginning = new Map<string, Promise<unknown>>();
  return {
    watch: (begin) => async (triggered) => {
      const { run } = triggered.started;
      const begun = begin(triggered);
      beginning.set(run, begun);
      try {
        return await begun;
      } finally {
        beginning.delete(run);
      }
    },
    async idle() {
      do {
        await Promise.allSettled(beginning.values());
        await engine.idle();
      } while (beginning.size > 0);
    },
    under: () => {
      const worked = engine.busy().flatMap(({ kind, stream }) => (kind === 'run' ? [stream] : []));
      return [...new Set([...beginning.keys(), ...worked])];
    },
  };
}

/** What says that the definition of a run is another by now: nobody with this one can ever go on with it. */
const CHANGED: ReadonlySet<string> = new Set(['manifest_changed', 'no_workflow']);

/**
 * Ends a run that nobody works on and that this process could not go on with, at once: a message would wait for ever in
 * its inbox. False where somebody can end it as it should be. Throws where its steps may have to be undone, and what says
 * how is not there.
 */
async function cancelStranded(
  deps: Pick<RunsDeps, 'store' | 'clock'> & GroundDeps & { readonly board: RunBoard },
  state: RunState,
  reason: string,
  by: string,
): Promise<boolean> {
  const { store, clock, board } = deps;
  const info = await store.info(state.id);
  if (info === undefined || info.owner !== undefined || board.find(state.id)?.ground !== undefined)
    return false;
  const missing = await missingOf(deps, state);
  if (missing === undefined) return false;
  const way = await wayToEnd(store, info);
  if (way === 'at once') return (await cancelUnownedRun(store, state.id, { reason, by, clock })) !== 'owned';
  if (way === 'by working on it' && CHANGED.has(missing.code)) throw cannotUndo(state);
  return false;
}

async function missingOf(deps: GroundDeps, state: RunState): Promise<RuntimeError | undefined> {
  try {
    const { agent } = await readGround(state, deps);
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

/** Begins a run that somebody asked for, or a trigger that belongs to no session: a hook, a schedule. */
function beginAsked(
  deps: RunsDeps & { readonly board: RunBoard; readonly turns: Turns },
  { manifest, agent }: LoadedWorkflow<unknown>,
  { input = {}, vars, id: asked, signal, onWaiting, queued = false }: RunOptions<unknown> = {},
  of: Pick<RunOrigin, 'trigger'> = {},
): BegunRun {
  const { board, engine, ids } = deps;
  const id = asked ?? ids.next('run');
  const make = async () => {
    if (vars !== undefined) checkVars(manifest, agent.manifest, vars);
    const run: NewRun = {
      id,
      workflow: manifest,
      ground: { agent },
      input: input as JsonObject,
      vars,
      balance: agent.manifest.budget?.balance,
      origin: { ...of, chain: [manifest.name], agents: [agent.manifest.name] },
    };
    const gate = handGate(manifest, agent.manifest.name, run.origin);
    const isOurs = asked === undefined && !queued && gate === undefined && keptVariables(run).length === 0;
    const held = isOurs ? beginRun(deps, run) : await makeInTurn(deps, gate, run);
    if (queued) return handOver(held);
    const entry = board.entry(id);
    entry.ground = { agent };
    entry.fresh = held;
    engine.place('run', id, 'here');
    await held.made;
  };
  const made = make();
  const run = createLiveRun(deps, id, made, { onWaiting, signal });
  if (queued) made.then(run.interrupt, () => undefined).then(() => board.forget(id));
  return { run, made };
}

/** Variables are given as to a session: who declares one says whether users may set it, the workflow before its agent. */
function checkVars(workflow: WorkflowManifest, agent: AgentManifest, vars: JsonObject): void {
  for (const [name, value] of Object.entries(vars))
    checkGiven(classOf(workflow, name) === undefined ? agent : workflow, { [name]: value }, 'user');
}

/** A run that a trigger of a session started. */
export interface TriggeredRun {
  readonly session: string;
  /** Who takes turns for it. */
  readonly group: string;
  readonly ground: Ground;
  readonly started: StartedRun;
  readonly balance?: number | undefined;
  readonly agents: readonly string[];
}

/** Makes the run of a `trigger.fired` that is committed, or goes on with it. Gives its end where it has ended. */
async function beginTriggered(
  deps: RunsDeps & { readonly board: RunBoard },
  { session, group, ground, started, balance, agents }: TriggeredRun,
): Promise<EndMessage | undefined> {
  const { store, engine, board } = deps;
  const { run, trigger, seen, chain, seq, depth } = started;
  const known = await store.info(run);
  if (known === undefined || known.head === 0) {
    const workflow = workflowsOf(ground.agent).get(started.workflow);
    if (workflow === undefined) return gone(started, session);
    const cause: Cause = { stream: session, seq, depth };
    const held = await createRun(deps, {
      id: run,
      workflow,
      ground,
      input: {},
      balance,
      cause,
      origin: { session: { id: session, seq }, trigger: { id: trigger, seen }, chain, agents },
    });
    board.entry(run).fresh = held;
  } else {
    const state = await readRun(store, run);
    // A session that was forked has the runs of the other one on its log, up to there.
    if (state.origin.session?.id !== session) return elsewhere(started, session);
    if (isOver(state.status)) return endMessage(state);
  }
  const entry = board.entry(run);
  entry.ground = ground;
  const how = isInCode(ground.agent) ? 'here' : undefined;
  if (engine.place('run', run, how, group) === 'elsewhere') await leaveToOthers(board, entry);
  return undefined;
}

const gone = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: {
    status: 'failed',
    error: toRuntimeError(new Error(`The agent no longer has the workflow "${workflow}".`)).toJSON(),
  },
});

const elsewhere = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: { status: 'cancelled', reason: 'It belongs to the session that this one was forked from.' },
});

/** There is no room for it here, and another process may take it once nobody holds it. */
async function leaveToOthers(board: RunBoard, entry: BoardEntry): Promise<void> {
  const { fresh, run } = entry;
  entry.fresh = undefined;
  if (entry.listeners.size === 0) board.forget(run);
  if (fresh !== undefined) await handOver(fresh);
}

/** One that is let go of while it is to be worked on is found by whoever looks for such. */
async function handOver({ journal, writer }: HeldRun): Promise<void> {
  try {
    await journal.flushed();
  } finally {
    await writer.release();
  }
}
