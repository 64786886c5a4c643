import { readRun, readRunEvents } from '../../engine/read-run.ts';
import { recoverRuns } from '../../engine/recover-runs.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { isInCode } from '../define/agent-code.ts';
import type { Lead } from '../guide/lead.ts';
import { stateAt } from '../log/state-at.ts';
import { findCircle } from '../outside/find-circle.ts';
import { wakeForTurn } from '../outside/leave-turns.ts';
import { listen } from '../outside/listen.ts';
import { createTurns } from '../outside/turns.ts';
import { acceptRunChanges, planRunChanges } from './accept-changes.ts';
import { beginAsked } from './begin-asked.ts';
import { beginTriggered, type TriggeredRun } from './begin-triggered.ts';
import { createBeginnings } from './beginnings.ts';
import { type CalledRun, callRun, cancelRun } from './call-run.ts';
import { cancelStranded } from './cancel-stranded.ts';
import { createClientRuns } from './client-runs.ts';
import type { ClientRuns, ClientRunsOptions } from './client-types.ts';
import type { DriveRun } from './drive-run.ts';
import { groupOfRun } from './group-of-run.ts';
import { createLiveRun } from './live-run.ts';
import { watchWaiting } from './parked-runs.ts';
import { readInput } from './read-input.ts';
import { type Ground, readGround } from './realm.ts';
import { createRunBoard, type RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { isOver } from './run-end.ts';
import { runChangedInCode, runEnded, runLeads, runOfOther } from './run-errors.ts';
import { type EndMessage, RUN_CANCEL, RUN_SIGNAL } from './run-messages.ts';
import type { Listening, Workflows } from './run-types.ts';
import { workOnRun } from './work-on-run.ts';

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
