import { readRun, readRunEvents } from '../../engine/read-run.ts';
import { recoverRuns } from '../../engine/recover-runs.ts';
import type { Cause } from '../../events/event.ts';
import type { RunOrigin } from '../../events/run-event.ts';
import type { StartedRun } from '../../events/state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { isInCode } from '../define/agent-code.ts';
import type { Lead } from '../guide/lead.ts';
import type { BegunRun } from '../outside/begun-run.ts';
import { handGate } from '../outside/hand-gate.ts';
import { wakeForTurn } from '../outside/leave-turns.ts';
import { listen } from '../outside/listen.ts';
import { createTurns } from '../outside/turns.ts';
import { createBeginnings } from './beginnings.ts';
import { type CalledRun, callRun, cancelRun } from './call-run.ts';
import { cancelStranded } from './cancel-stranded.ts';
import { createClientRuns } from './client-runs.ts';
import type { ClientRuns, ClientRunsOptions } from './client-types.ts';
import type { DriveRun } from './drive-run.ts';
import { groupOfRun } from './group-of-run.ts';
import { createLiveRun } from './live-run.ts';
import { makeInTurn } from './make-in-turn.ts';
import { beginRun, createRun, type HeldRun, type NewRun } from './open-run.ts';
import { watchWaiting } from './parked-runs.ts';
import { readInput } from './read-input.ts';
import type { Ground } from './realm.ts';
import { type BoardEntry, createRunBoard, type RunBoard } from './run-board.ts';
import type { RunsEdges } from './run-edges.ts';
import { isOver } from './run-end.ts';
import { runEnded, runLeads, runOfOther } from './run-errors.ts';
import { type EndMessage, RUN_CANCEL, RUN_SIGNAL } from './run-messages.ts';
import type { Listening, LoadedWorkflow, RunOptions, Workflows } from './run-types.ts';
import { endMessage } from './tell-end.ts';
import { workOnRun } from './work-on-run.ts';
import { workflowsOf } from './workflow-catalog.ts';

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

/** All runs of a runtime. */
export interface Runs extends Workflows {
  /** Makes the run of a `trigger.fired` that is committed, or goes on with it. Gives its end where it has ended. */
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
  edges: RunsEdges & { readonly board: RunBoard; readonly leads: ReadonlyMap<string, Lead> },
  call: Runs['call'],
) => DriveRun;

export function createRuns(given: RunsEdges, makeDrive: MakeDrive): Runs {
  const { store, engine, ids, clock } = given;
  const board = createRunBoard();
  const turns = createTurns({
    ...{ clock, tables: store.tables, info: store.info, onError: given.onError },
    cancel: (run, reason) => cancelForOther(run, reason),
    wake: wakeForTurn(store),
  });
  const edges = { ...given, board, turns, leads: new Map<string, Lead>() };
  /** Also where this process could not go on with it: the manifest may be another by now. */
  const cancelForOther = async (run: string, reason: string): Promise<void> => {
    const state = await readRun(store, run);
    if (isOver(state.status) || (await cancelStranded(edges, state, reason, 'trigger'))) return;
    await cancelRun(edges, run, reason, 'trigger');
  };
  const call: Runs['call'] = (called) => callRun(edges, called);
  const pass: Runs['pass'] = (run, event, data, from) =>
    engine.signal('run', run, { kind: RUN_SIGNAL, from, body: { event, data } });
  const drive = makeDrive(edges, call);
  const isLeftToOthers = (agent: Ground['agent']) => engine.isFull() && !isInCode(agent);
  const begin = (
    { manifest, agent }: LoadedWorkflow<unknown>,
    { input: given = {}, vars, id: asked, signal, onWaiting, queued = false }: RunOptions<unknown> = {},
    of: Pick<RunOrigin, 'trigger'> = {},
  ): BegunRun => {
    const input = given as JsonObject;
    const id = asked ?? ids.next('run');
    const make = async () => {
      const run: NewRun = {
        ...{ id, workflow: manifest, ground: { agent }, input, vars },
        balance: agent.manifest.budget?.balance,
        origin: { ...of, chain: [manifest.name], agents: [agent.manifest.name] },
      };
      const gate = handGate(manifest, agent.manifest.name, run.origin);
      const isOurs = asked === undefined && !queued && gate === undefined;
      const held = isOurs ? beginRun(edges, run) : await makeInTurn(edges, gate, run);
      if (queued) return handOver(held);
      const entry = board.entry(id);
      entry.ground = { agent };
      entry.fresh = held;
      engine.place('run', id, 'here');
      await held.made;
    };
    const made = make();
    const run = createLiveRun(edges, id, made, { onWaiting, signal });
    if (queued) made.then(run.interrupt, () => undefined).then(() => board.forget(id));
    return { run, made };
  };
  const ask = (run: string) => {
    const entry = board.entry(run);
    board.unpark(entry);
    entry.isAsked = true;
  };
  const beginnings = createBeginnings(engine);
  const listenings = new Set<Listening>();
  engine.onWork('run', (run, signal, taken) => workOnRun({ ...edges, drive }, run, signal, taken));

  return {
    call,
    pass,
    close() {
      for (const listening of listenings) listening.close();
      return board.close();
    },
    end: (run, reason, by) => cancelRun(edges, run, reason, by),
    takeUp(run) {
      ask(run);
      engine.place('run', run, 'called');
    },
    letGo: (run) => board.find(run)?.letGo?.(),
    letGoUnless(isKept) {
      for (const { run, live, letGo } of board.live())
        if (live !== undefined && !isKept(run, groupOfRun(live.journal.state))) letGo?.();
    },
    leads: edges.leads,
    begin: beginnings.watch(async ({ session, group, ground, started, balance, agents }: TriggeredRun) => {
      const { run, trigger, seen, chain, seq, depth } = started;
      const known = await store.info(run);
      if (known === undefined || known.head === 0) {
        const workflow = workflowsOf(ground.agent).get(started.workflow);
        if (workflow === undefined) return gone(started, session);
        const cause: Cause = { stream: session, seq, depth };
        const held = await createRun(edges, {
          ...{ id: run, workflow, ground, input: {}, balance, cause },
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
    }),
    listen(agent, options) {
      const listening = listen(
        {
          ...{ engine, clock },
          ...{ tables: store.tables, crashPoint: edges.crashPoint, onError: edges.onError },
          info: store.info,
          cancel: cancelForOther,
          start: (manifest, trigger, seen, id) =>
            begin(
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
      return begin(workflow, { ...options, input }).run;
    },
    async resume(run, { workflow, acceptChanges, onWaiting, signal } = {}) {
      signal?.throwIfAborted();
      const state = await readRun(store, run, undefined, signal);
      if (isOver(state.status)) throw runEnded(run, state.status);
      if (state.origin.parent !== undefined) throw runOfOther(run, state.origin.parent.run);
      if (state.origin.leads === true) throw runLeads(run, state.origin.session?.id ?? '');
      const entry = board.entry(run);
      board.unpark(entry); // it may have been parked for what its log does not say: an agent that it called
      if (workflow !== undefined) entry.ground = { agent: workflow.agent, model: state.model };
      if (acceptChanges !== undefined) entry.acceptChanges = acceptChanges;
      const place = async () => void engine.place('run', run, 'here');
      return createLiveRun(edges, run, place(), { onWaiting, signal });
    },
    goOn(run) {
      ask(run);
      engine.place('run', run);
    },
    async cancel(run, reason = 'asked to', from = 'user') {
      const state = await readRun(store, run);
      if (!isOver(state.status) && (await cancelStranded(edges, state, reason, from))) return;
      await engine.signal('run', run, { kind: RUN_CANCEL, from, body: reason });
    },
    async signal(run, event, data = {}, from = 'user') {
      await readRun(store, run);
      await pass(run, event, data, from);
    },
    events: (run, from = 1, { signal } = {}) => readRunEvents(store, run, from, signal),
    state: (run, seq, { signal } = {}) => readRun(store, run, seq, signal),
    forClients: (options) => createClientRuns(edges, options),
    recover: () => recoverRuns(engine, store, clock.now(), (info) => watchWaiting(edges, info)),
    idle: beginnings.idle,
    under: beginnings.under,
  };
}

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

const gone = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  ...{ run, workflow, charged: 0, cause: { stream: session, seq, depth } },
  end: {
    status: 'failed',
    error: toRuntimeError(new Error(`The agent no longer has the workflow "${workflow}".`)).toJSON(),
  },
});

const elsewhere = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  ...{ run, workflow, charged: 0, cause: { stream: session, seq, depth } },
  end: { status: 'cancelled', reason: 'It belongs to the session that this one was forked from.' },
});
