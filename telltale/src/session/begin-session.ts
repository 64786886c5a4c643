import { resolve } from 'node:path';
import type { Cause } from '../events/event.ts';
import { createSnapshotWriter, type SnapshotWriter } from '../events/snapshot.ts';
import { emptyState, type SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Model } from '../models/model.ts';
import type { StreamWriter } from '../store/store.ts';
import type { Invoke } from '../targets/artifacts/invoker.ts';
import type { Begin, Lineage } from './children/lineage.ts';
import { choiceOf } from './choice-of.ts';
import { createSessionLog } from './create-session-log.ts';
import { sessionContext } from './decision-context.ts';
import { hasEnded } from './ending/has-ended.ts';
import { firstEvent, writerOf } from './first-event.ts';
import type { Lead } from './guide/lead.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { openSession } from './read-session.ts';
import type { RuntimeEdges } from './runtime-edges.ts';
import { createSessionInvoke } from './session-invoke.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import { takeNewStream, titleOf } from './take-new-stream.ts';
import {
  createSessionVariables,
  type SessionVariables,
  seedMissing,
  setGiven,
} from './variables/session-variables.ts';

export interface Opened {
  readonly prepared: PreparedAgent;
  readonly model: Model;
  readonly writer: StreamWriter;
  readonly log: SessionLog;
  readonly variables: SessionVariables;
  readonly invoke: Invoke;
  readonly origin: Cause;
  readonly resumed: boolean;
  /** The last message that was there when a session was resumed that had ended; 0 for others. */
  readonly sentBefore: number;
  readonly lineage: Lineage | undefined;
  readonly lead: Lead | undefined;
}

/** Takes the stream, writes the first event, and gets everything ready that a session needs. */
export async function beginSession(
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
  const toLog = (writer: StreamWriter, state: SessionState, snapshots: SnapshotWriter): SessionLog => {
    const log = createSessionLog({ ...edges, writer, state, snapshots, stop });
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
    const opened = { prepared, model, writer, log, variables, invoke, origin, lineage, lead };
    return { ...opened, resumed: false, sentBefore: 0 };
  }
  const writer = await edges.store.acquire(begin.id);
  try {
    const { state, snapshots } = await openSession(edges.store, begin.id);
    const chat = begin.resume.chat === true;
    if (state.status === 'completed' && !chat) throw sessionCompleted(begin.id);
    const sentBefore = hasEnded(state.status) ? ((await writer.inbox()).at(-1)?.id ?? 0) : 0;
    const log = toLog(writer, state, snapshots);
    const { invoke, artifacts } = asking(log);
    const variables = createSessionVariables({ ...forVariables, artifacts }, log);
    const { maxTurns } = begin.resume;
    const origin = log.append(
      {
        type: 'session.resumed',
        by: lineage === undefined ? (begin.resume.by ?? 'user') : 'parent',
        ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
        ...(chat ? { chat } : {}),
      },
      lineage?.cause,
    );
    seedMissing(forVariables, log, origin);
    variables.reactions?.restore();
    const opened = { prepared, model, writer, log, variables, invoke, origin, lineage, lead };
    return { ...opened, resumed: true, sentBefore };
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
