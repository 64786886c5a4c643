import { randomBytes } from 'node:crypto';
import type { Cause } from '../events/event.ts';
import { emptyState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Json } from '../kernel/json.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import type { Model } from '../models/model.ts';
import { openModel } from '../models/open-model.ts';
import { recordModel } from '../models/record.ts';
import type { Store, StreamWriter } from '../store/store.ts';
import { createTargets } from '../targets/create-targets.ts';
import type { Approve } from '../targets/target.ts';
import { createEventQueue } from './event-queue.ts';
import { initialMetadata } from './metadata/initial-metadata.ts';
import { keptMetadata } from './metadata-writer.ts';
import { readSession } from './read-session.ts';
import { runSession } from './run-session.ts';
import type { LoadedAgent, ResumeOptions, Session, SessionResult, StartOptions } from './runtime-types.ts';
import { createSessionLog, type SessionLog } from './session-log.ts';
import { createStop } from './stop.ts';

export interface RuntimeEdges {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly approve?: Approve | undefined;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

export type Begin =
  | { readonly kind: 'start'; readonly id: string; readonly agent: LoadedAgent; readonly start: StartOptions }
  | { readonly kind: 'resume'; readonly id: string; readonly agent: LoadedAgent; readonly resume: ResumeOptions };

export interface LiveSession extends Session {
  /** Resolves once the session is this process's own and has begun; rejects where it cannot. */
  readonly ready: Promise<void>;
}

/** A session that this process works on, from the moment it is asked for. */
export function createLiveSession(edges: RuntimeEdges, begin: Begin): LiveSession {
  const { store } = edges;
  const { id } = begin;
  const stop = createStop();
  const queue = createEventQueue(store, id);
  const listeners: ((event: Parameters<Parameters<Session['subscribe']>[0]>[0]) => void)[] = [];
  const forgotten = new Set<unknown>();
  let log: SessionLog | undefined;
  let begun: () => void = () => undefined;
  let refused: (error: unknown) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    begun = resolve;
    refused = reject;
  });
  ready.catch(() => undefined); // whoever waits for the result hears of it there

  const run = async (): Promise<SessionResult> => {
    let writer: StreamWriter | undefined;
    try {
      const opened = await open(edges, begin, stop, (made) => {
        writer = made.writer;
        log = made.log;
        log.subscribe(queue.push);
        for (const listener of listeners) if (!forgotten.has(listener)) log.subscribe(listener);
      });
      begun();
      try {
        return await runSession({ ...edges, ...opened, agent: begin.agent, stop });
      } finally {
        await opened.targets.close();
      }
    } catch (thrown) {
      refused(thrown);
      throw thrown;
    } finally {
      queue.end(log?.committedSeq() ?? 0);
      await writer?.release();
    }
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
      listeners.push(listener);
      return () => forgotten.add(listener);
    },
    async steer(text) {
      await ready;
      await store.send(id, { kind: 'steer', from: 'user', body: text });
    },
    async cancel(reason = 'asked to') {
      stop.now({ kind: 'cancel', reason, by: 'user' });
      await result;
    },
    async interrupt() {
      log?.seal();
      stop.now({ kind: 'interrupt' });
      await result.catch(() => undefined);
    },
  };
}

interface Opened {
  readonly writer: StreamWriter;
  readonly log: SessionLog;
  readonly origin: Cause;
  readonly resumed: boolean;
  readonly model: Model;
  readonly fastModel: () => Promise<Model>;
  readonly targets: Awaited<ReturnType<typeof createTargets>>;
}

/** Takes the stream, writes the first event, and gets everything ready that a session needs. */
async function open(
  edges: RuntimeEdges,
  begin: Begin,
  stop: ReturnType<typeof createStop>,
  onLog: (made: { writer: StreamWriter; log: SessionLog }) => void,
): Promise<Opened> {
  const { store, clock, env } = edges;
  const { agent, id } = begin;
  const { manifest, folder } = agent;
  const choice = begin.kind === 'start' ? begin.start : begin.resume;
  const named = choice.model ?? manifest.model;
  if (named === undefined) throw noModel(manifest.name);
  const open = (ref: string) => openModel(manifest.models[ref] ?? ref, { env, folder, clock });
  const plain = typeof named === 'string' ? await open(named) : named;
  const model = choice.record === undefined ? plain : await recordModel(plain, choice.record, clock);
  const fast = manifest.models['fast'];
  const targets = await createTargets({
    agent: manifest,
    project: agent.project,
    folder,
    clock,
    env,
    store,
    openModel: (ref) => (ref === undefined ? Promise.resolve(model) : open(ref)),
    ...(edges.approve === undefined ? {} : { approve: edges.approve }),
  });
  const made = {
    model,
    fastModel: () => (fast === undefined ? Promise.resolve(model) : open(fast)),
    targets,
  };
  const onLost = (error: RuntimeError) => stop.now({ kind: 'lost', error });
  if (begin.kind === 'start') {
    const { start } = begin;
    const kept = await keptMetadata(manifest.metadata, manifest.name, store);
    const writer = await store.create(id, {
      kind: 'session',
      name: manifest.name,
      status: 'running',
      title: start.input.slice(0, 200),
    });
    const log = createSessionLog({ writer, state: emptyState(), clock, onLost, crashPoint: edges.crashPoint });
    onLog({ writer, log });
    const metadata = initialMetadata(manifest.metadata, kept);
    const origin = log.append({
      type: 'session.started',
      agent: manifest.name,
      input: start.input,
      manifest: { path: agent.path, hash: agent.hash },
      model: model.id,
      ...(manifest.protocol.seal ? { seal: randomBytes(9).toString('base64url') } : {}),
      vars: { ...variableDefaults(manifest), ...start.vars },
      metadata,
      ...(manifest.budget === undefined ? {} : { balance: manifest.budget.balance }),
    });
    return { ...made, writer, log, origin, resumed: false };
  }
  const writer = await store.acquire(id);
  try {
    const state = await readSession(store, id);
    if (state.status === 'completed') throw sessionCompleted(id);
    const log = createSessionLog({ writer, state, clock, onLost, crashPoint: edges.crashPoint });
    onLog({ writer, log });
    const origin = log.append({ type: 'session.resumed', by: 'user' });
    return { ...made, writer, log, origin, resumed: true };
  } catch (thrown) {
    await writer.release();
    throw toRuntimeError(thrown);
  }
}

function variableDefaults({ context_variables: variables }: LoadedAgent['manifest']): Record<string, Json> {
  const defaults: Record<string, Json> = {};
  for (const { name, default: value } of [...variables.defined, ...variables.runtime, ...variables.derived])
    if (value !== undefined) defaults[name] = value as Json;
  return defaults;
}

const noModel = (agent: string) =>
  new RuntimeError('no_model', `The agent "${agent}" names no model.`, {
    hint: 'Write "model: provider/model" or "model: scripted:FILE" into its manifest, or give --model.',
  });

const sessionCompleted = (id: string) =>
  new RuntimeError('session_completed', `${id} has completed: there is nothing left to resume.`, {
    hint: `Branch off from one of its events instead: telltale fork ${id} SEQ`,
  });
