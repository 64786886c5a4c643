import { resolve } from 'node:path';
import type { Cause, ObservedEvent } from '../events/event.ts';
import { createSnapshotWriter, type SnapshotWriter } from '../events/snapshot.ts';
import { emptyState, type SessionState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { IdSource } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { Model } from '../models/model.ts';
import type { Store, StreamWriter } from '../store/store.ts';
import type { Invoke } from '../targets/artifacts/invoker.ts';
import type { Approve } from '../targets/target.ts';
import type { AgentShelf } from './agent-shelf.ts';
import { createTalk } from './chat/talk.ts';
import type { Begin, ChildSession, Lineage, Spawn } from './children/lineage.ts';
import { sessionContext } from './decision-context.ts';
import { createEventQueue } from './event-queue.ts';
import { firstEvent, writerOf } from './first-event.ts';
import type { Lead } from './guide/lead.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { Memories } from './memory/memories.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { openSession } from './read-session.ts';
import { runSession } from './run-session.ts';
import type { Runs } from './runs/create-runs.ts';
import type { OnWaiting, Session, SessionResult } from './runtime-types.ts';
import { createSessionInvoke } from './session-invoke.ts';
import { createSessionLog, type SessionLog } from './session-log.ts';
import { cancelOnAbort, createStop, type Stop, type StopReason } from './stop.ts';
import { takeNewStream, titleOf } from './take-new-stream.ts';
import {
  createSessionVariables,
  type SessionVariables,
  seedMissing,
  setGiven,
} from './variables/session-variables.ts';

export interface RuntimeEdges {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly shelf: AgentShelf;
  readonly approve?: Approve | undefined;
  readonly onWaiting?: OnWaiting | undefined;
  /** Whose variables of `key: user` sessions have that say nothing else. */
  readonly user: string;
  /** Begins the session of a sub-agent. */
  readonly spawn: Spawn;
  readonly runs: Runs;
  readonly memories: Memories;
  readonly tokenizer: LoadTokenizer;
  readonly ids: IdSource;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

export interface LiveSession extends Session<unknown>, ChildSession {
  /** Resolves once the session is this process's own and has begun; rejects where it cannot. */
  readonly ready: Promise<void>;
}

/** A session that this process works on, from the moment it is asked for. */
export function createLiveSession(edges: RuntimeEdges, begin: Begin): LiveSession {
  const { store } = edges;
  const { id } = begin;
  const stop = createStop();
  const talk = createTalk();
  /** Those that came before the log was there. */
  const early = new Set<(event: ObservedEvent) => void>();
  let log: SessionLog | undefined;
  let begun: () => void = () => undefined;
  let refused: (error: unknown) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    begun = resolve;
    refused = reject;
  });
  ready.catch(() => undefined); // whoever waits for the result hears of it there
  const queue = createEventQueue(store, id, ready);

  const forgetSignal = cancelOnAbort(stop, choiceOf(begin).signal);
  const run = async (): Promise<SessionResult<unknown>> => {
    let writer: StreamWriter | undefined;
    let prepared: PreparedAgent | undefined;
    try {
      prepared = await edges.shelf.prepare(begin.agent, choiceOf(begin).model);
      const opened = await open(edges, begin, stop, prepared, (made) => {
        writer = made.writer;
        log = made.log;
        queue.attach(log.subscribe);
        for (const listener of early) log.subscribe((event) => early.has(listener) && listener(event));
      });
      begun();
      const chosen = begin.kind === 'start' ? begin.start.onWaiting : begin.resume.onWaiting;
      const onWaiting = chosen ?? edges.onWaiting ?? 'release';
      const ended = await runSession({ ...edges, ...opened, onWaiting, stop, talk });
      return begin.lineage === undefined ? readResult(begin.agent, ended) : ended;
    } catch (thrown) {
      refused(thrown);
      throw thrown;
    } finally {
      forgetSignal();
      try {
        await writer?.release(); // what was queued when it was let go is on the log after this
      } finally {
        queue.end(log?.committedSeq() ?? 0);
        if (prepared !== undefined) edges.shelf.release(prepared);
      }
    }
  };
  const end = (reason: StopReason) => {
    if (reason.kind === 'interrupt') log?.seal();
    stop.now(reason);
  };
  const result = run();
  result.catch(() => undefined); // a caller that only reads events is not ended by it

  return {
    id,
    ready,
    result,
    events: queue,
    subscribe(listener) {
      if (log !== undefined) return log.subscribe(listener);
      early.add(listener);
      return () => early.delete(listener);
    },
    async steer(text) {
      await ready;
      await store.send(id, { kind: 'steer', from: 'user', body: text });
    },
    async say(text) {
      await ready;
      await store.send(id, { kind: 'message', from: 'user', body: text });
    },
    breakOff: talk.breakOff,
    finish: talk.finish,
    stop: end,
    async cancel(reason = 'asked to') {
      end({ kind: 'cancel', reason, by: 'user' });
      await result;
    },
    async interrupt() {
      end({ kind: 'interrupt' });
      await result.catch(() => undefined);
    },
  };
}

const choiceOf = (begin: Begin) => (begin.kind === 'start' ? begin.start : begin.resume);

/** The session's result, as the agent's output schema gives it; on the log it is what the model wrote. */
const readResult = (agent: LoadedAgent<unknown>, result: SessionResult): SessionResult<unknown> =>
  result.result === undefined || agent.readResult === undefined
    ? result
    : { ...result, result: agent.readResult(result.result) };

interface Opened {
  readonly prepared: PreparedAgent;
  readonly model: Model;
  readonly writer: StreamWriter;
  readonly log: SessionLog;
  readonly variables: SessionVariables;
  readonly invoke: Invoke;
  readonly origin: Cause;
  readonly resumed: boolean;
  readonly lineage: Lineage | undefined;
  readonly lead: Lead | undefined;
}

/** Takes the stream, writes the first event, and gets everything ready that a session needs. */
async function open(
  edges: RuntimeEdges,
  begin: Begin,
  stop: Stop,
  prepared: PreparedAgent,
  onLog: (made: Pick<Opened, 'writer' | 'log'>) => void,
): Promise<Opened> {
  const { lineage, lead } = begin;
  const choice = choiceOf(begin);
  const model =
    choice.record === undefined ? prepared.model : await recorded(prepared.model, choice.record, edges);
  const { manifest } = prepared.agent;
  const forVariables = { ...edges, manifest, targets: prepared.targets, derived: prepared.derived };
  const asking = ({ state }: SessionLog) => {
    const invoke = createSessionInvoke({ desk: prepared.desk, manifest, state });
    return { invoke, artifacts: { invoke, context: () => sessionContext(state) } };
  };
  const onLost = (error: RuntimeError) => stop.now({ kind: 'lost', error });
  const toLog = (writer: StreamWriter, state: SessionState, snapshots: SnapshotWriter): SessionLog => {
    const log = createSessionLog({ ...edges, writer, state, snapshots, onLost });
    onLog({ writer, log });
    return log;
  };
  if (begin.kind === 'start') {
    const { started, dropped, given, problems } = await firstEvent(edges, begin, prepared);
    const writer = await takeNewStream(edges.store, begin.id, {
      kind: 'session',
      name: started.agent,
      status: 'running',
      title: titleOf(started.input),
      ...(lineage === undefined ? {} : { parent: lineage.parent.session }),
    });
    const log = toLog(writer, emptyState(), createSnapshotWriter());
    const { invoke, artifacts } = asking(log);
    const variables = createSessionVariables({ ...forVariables, artifacts }, log);
    const origin = log.append(started, lineage?.cause);
    setGiven(variables, forVariables, given, writerOf(lineage), origin);
    if (lineage?.shown !== undefined) log.append(shownToChild('metadata', lineage.shown), origin);
    if (lineage?.shownVariables !== undefined)
      log.append(shownToChild('variables', lineage.shownVariables), origin);
    for (const { message } of problems)
      log.append({ type: 'fault', code: 'variable_store', message }, origin);
    if (dropped.length > 0) log.append({ type: 'metadata.rejected', errors: dropped, by: 'seed' }, origin);
    return { prepared, model, writer, log, variables, invoke, origin, resumed: false, lineage, lead };
  }
  const writer = await edges.store.acquire(begin.id);
  try {
    const { state, snapshots } = await openSession(edges.store, begin.id);
    const chat = begin.resume.chat === true;
    if (state.status === 'completed' && !chat) throw sessionCompleted(begin.id);
    const log = toLog(writer, state, snapshots);
    const { invoke, artifacts } = asking(log);
    const variables = createSessionVariables({ ...forVariables, artifacts }, log);
    const { maxTurns } = begin.resume;
    const origin = log.append(
      {
        type: 'session.resumed',
        by: lineage === undefined ? 'user' : 'parent',
        ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
        ...(chat ? { chat } : {}),
      },
      lineage?.cause,
    );
    seedMissing(forVariables, log, origin);
    variables.reactions?.restore();
    return { prepared, model, writer, log, variables, invoke, origin, resumed: true, lineage, lead };
  } catch (thrown) {
    await writer.release();
    throw thrown;
  }
}

/** Writing scripts is loaded by those who do. */
async function recorded(model: Model, file: string, { cwd, clock }: RuntimeEdges): Promise<Model> {
  const { recordToFile } = await import('../models/record-to-file.ts');
  return recordToFile(model, resolve(cwd, file), clock);
}

const shownToChild = (what: 'metadata' | 'variables', values: JsonObject) =>
  ({
    type: 'message.received',
    from: 'parent',
    text: `My ${what}, for you to read: ${JSON.stringify(values)}`,
  }) as const;

const sessionCompleted = (id: string) =>
  new RuntimeError('session_completed', `${id} has completed: there is nothing left to resume.`, {
    hint: `Branch off from one of its events (telltale fork ${id} SEQ), or talk to it: telltale chat MANIFEST --resume ${id}`,
  });
