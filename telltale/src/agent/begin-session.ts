import { randomBytes } from 'node:crypto';
import { platform } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { hasEnded as hasEndedAction } from '../log/action.ts';
import type { Cause, EventBody, ManifestPin, SessionEnvironment } from '../log/event.ts';
import type { FieldError } from '../log/session-events.ts';
import { createSnapshotWriter } from '../log/snapshot.ts';
import { emptyState, type SessionState } from '../log/state.ts';
import type { Model } from '../models/model.ts';
import type { Store, StreamWriter } from '../store/store.ts';
import type { Invoke } from '../tools/artifacts/create-invoke.ts';
import { createSessionInvoke } from './artifact-service.ts';
import { beginStream, titleOf } from './begin-stream.ts';
import type { Begin, Lineage } from './children/child-session.ts';
import { choiceOf } from './children/child-session.ts';
import { changedFiles, codeFilesOf } from './code-files.ts';
import { createSessionLog } from './create-session-log.ts';
import { sessionContext } from './decision-context.ts';
import { hasEnded } from './ending/has-ended.ts';
import type { Guidance } from './guided/guidance.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { keptMetadata } from './metadata-writer.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { openSession } from './read-session.ts';
import type { RuntimeDeps } from './runtime-deps.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import {
  checkGiven,
  classesOf,
  createSessionVariables,
  type SessionVariables,
  seedMissing,
  setGiven,
  variableDefaults,
} from './variables/session-variables.ts';
import { readStoredValues, type StoredValues } from './variables/variable-keeper.ts';

/** The status with which a session's stream is made. */
const AS_MADE = 'running';

export interface Opened {
  readonly prepared: PreparedAgent;
  readonly model: Model;
  readonly writer: StreamWriter;
  readonly log: SessionLog;
  readonly variables: SessionVariables;
  readonly invoke: Invoke | undefined;
  readonly origin: Cause;
  readonly resumed: boolean;
  /** The last message that was there when a session was resumed that had ended; 0 for others. */
  readonly sentBefore: number;
  /** Whether messages may wait in its inbox; asked once, when it listens for those that come. */
  readonly hasMail: () => boolean;
  readonly lineage: Lineage | undefined;
  readonly lead: Guidance | undefined;
}

/**
 * Takes the stream, writes the first event, and gets everything ready that a session needs. A new stream and its first
 * events are one commit, after which it resolves. `onLog` is called before that; twice, where an empty stream is taken.
 */
export async function beginSession(
  deps: RuntimeDeps,
  begin: Begin,
  stop: Stop,
  prepared: PreparedAgent,
  onLog: (made: Pick<Opened, 'writer' | 'log'>) => void,
): Promise<Opened> {
  const { lineage, lead } = begin;
  const choice = choiceOf(begin);
  const model =
    choice.record === undefined ? prepared.model : await recorded(prepared.model, choice.record, deps);
  const { manifest } = prepared.agent;
  const { targets, derived, triggers } = prepared;
  const forVariables = { ...deps, manifest, targets, derived, triggers };
  // Derived variables ask from the first event on; whoever asks later has it made then.
  const asking = ({ state }: SessionLog) => {
    if (prepared.derived === undefined) return { invoke: undefined, artifacts: undefined };
    const invoke = createSessionInvoke({ artifactStore: prepared.artifactStore, manifest, state });
    return { invoke, artifacts: { invoke, context: () => sessionContext(state) } };
  };
  if (begin.kind === 'start') {
    const { started, dropped, given, problems } = await firstEvent(deps, begin, prepared);
    const head = {
      kind: 'session',
      name: started.agent,
      status: AS_MADE,
      title: titleOf(started.input),
      ...(lineage === undefined ? {} : { parent: lineage.parent.session }),
    } as const;
    const { begun, hasMail } = await beginStream(deps.store, begin.id, head, (writer, whenMade) => {
      const log = createSessionLog({
        ...deps,
        writer,
        state: emptyState(),
        snapshots: createSnapshotWriter(),
        writtenStatus: AS_MADE,
        stop,
        whenMade,
      });
      onLog({ writer, log });
      const { invoke, artifacts } = asking(log);
      const variables = createSessionVariables({ ...forVariables, artifacts }, log);
      const origin = log.append(started, lineage?.cause);
      setGiven(variables, given, writerOf(lineage), origin);
      if (lineage?.shown !== undefined) log.append(shownToChild('metadata', lineage.shown), origin);
      if (lineage?.shownVariables !== undefined)
        log.append(shownToChild('variables', lineage.shownVariables), origin);
      for (const { message } of problems)
        log.append({ type: 'fault', code: 'variable_store', message }, origin);
      if (dropped.length > 0) log.append({ type: 'metadata.rejected', errors: dropped, by: 'seed' }, origin);
      return { writer, log, variables, invoke, origin };
    });
    return { ...begun, prepared, model, lineage, lead, resumed: false, sentBefore: 0, hasMail };
  }
  const writer = await deps.store.acquire(begin.id);
  try {
    const { state, snapshots } = await openSession(deps.store, begin.id);
    const chat = begin.resume.chat === true;
    if (state.status === 'completed' && !chat) throw sessionCompleted(begin.id);
    // It was alive when somebody found that it should go on: nobody asks for one that has ended since.
    if (begin.resume.by === 'runtime' && hasEnded(state.status)) throw sessionEnded(begin.id, state.status);
    const sentBefore = hasEnded(state.status) ? ((await writer.inbox()).at(-1)?.id ?? 0) : 0;
    const { endOrphans, isProgramOf: ofStream } = await import('../tools/process/orphans.ts');
    await endOrphans(
      deps.clock,
      ofStream(begin.id, (action) => hasActionEnded(state, action)),
    );
    const log = createSessionLog({ ...deps, writer, state, snapshots, stop });
    onLog({ writer, log });
    const { invoke, artifacts } = asking(log);
    const variables = createSessionVariables({ ...forVariables, artifacts }, log);
    const { maxTurns } = begin.resume;
    const origin = log.append(
      {
        type: 'session.resumed',
        by: lineage === undefined ? (begin.resume.by ?? 'user') : 'parent',
        ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
        ...budgetNow(begin.agent, state),
        ...(chat ? { chat } : {}),
        ...pinnedAnew(state.manifest, prepared),
      },
      lineage?.cause,
    );
    seedMissing(forVariables, log, origin);
    variables.reactions?.restore();
    const opened = { prepared, model, writer, log, variables, invoke, origin, lineage, lead };
    return { ...opened, resumed: true, sentBefore, hasMail: () => true };
  } catch (thrown) {
    await writer.release();
    throw thrown;
  }
}

/** What has changed of its definition since it was last pinned to it. */
function pinnedAnew(before: ManifestPin, prepared: PreparedAgent) {
  const changed = changedFiles(prepared.agent, before.files);
  if (before.hash === prepared.agent.hash && changed.length === 0) return {};
  return { manifest: pinOf(prepared), ...(changed.length === 0 ? {} : { changed_files: changed }) };
}

/** What an action that has ended left running, it was meant to: a server in the background. */
const hasActionEnded = ({ actions }: SessionState, id: string): boolean => {
  const known = actions.get(id);
  return known !== undefined && hasEndedAction(known.status);
};

/** A manifest that was accepted as it is now may have another balance than the session was started with. */
function budgetNow(
  { hash, manifest }: LoadedAgent<unknown>,
  { manifest: started, granted, parent }: SessionState,
) {
  const budget = manifest.budget?.balance;
  const isNew = hash !== started.hash && parent === undefined && granted !== undefined && granted !== budget;
  return isNew && budget !== undefined ? { budget } : {};
}

/** Writing scripts is loaded by those who do. */
async function recorded(model: Model, file: string, { cwd, clock }: RuntimeDeps): Promise<Model> {
  const { recordToFile } = await import('../models/record.ts');
  return recordToFile(model, resolve(cwd, file), clock);
}

const shownToChild = (what: 'metadata' | 'variables', values: JsonObject) =>
  ({
    type: 'message.received',
    from: 'parent',
    text: `My ${what}, for you to read: ${JSON.stringify(values)}`,
  }) as const;

const sessionEnded = (id: string, status: string) =>
  new RuntimeError('session_ended', `${id} has ended (${status}). It only continues if you resume it.`, {
    hint: `Resume it: telltale resume ${id}`,
  });

const sessionCompleted = (id: string) =>
  new RuntimeError('session_completed', `${id} has completed, so there is nothing to resume.`, {
    hint: `Fork it at one of its events: telltale fork ${id} SEQ. Or talk to it: telltale chat MANIFEST --resume ${id}`,
  });

const SEAL_BYTES = 9;

export interface FirstEventDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Whose variables of `key: user` sessions have that say nothing else. */
  readonly user: string;
}

/** What a session that begins or goes on now is pinned to. */
function pinOf({ agent, source, model }: PreparedAgent): ManifestPin {
  const files = codeFilesOf(agent, model.id);
  return files === undefined ? source : { ...source, files };
}

/** What a session that begins now tells its model of where it is. */
export const environmentOf = (clock: Clock, folder: string): SessionEnvironment => ({
  date: new Date(clock.now()).toISOString().slice(0, 10),
  folder,
  platform: platform(),
});

/** A sub-agent's variables are given by the model that calls it. */
const writerOf = (lineage: Lineage | undefined) => (lineage === undefined ? 'user' : 'model');

/** How a session begins. */
interface First {
  readonly started: Extract<EventBody, { type: 'session.started' }>;
  readonly dropped: readonly FieldError[];
  /** Variables that are set right after it. */
  readonly given: JsonObject;
  readonly problems: readonly RuntimeError[];
}

export async function firstEvent(
  deps: FirstEventDeps,
  { id, start, agent, lineage, lead }: Extract<Begin, { kind: 'start' }>,
  prepared: PreparedAgent,
): Promise<First> {
  const { store } = deps;
  const { manifest } = agent;
  if (start.chat === true && manifest.workflow !== null) throw notTalkedTo(manifest.name, manifest.workflow);
  const given = start.vars ?? {};
  checkGiven(manifest, given, writerOf(lineage));
  const kept = await keptMetadata(manifest.metadata, manifest.name, store);
  const { values, dropped } = prepared.metadata.initial(
    lineage === undefined ? kept : { ...kept, ...lineage.shared },
  );
  const { defined } = manifest.context_variables;
  const user = lineage?.user ?? start.user ?? deps.user;
  const found =
    defined.length === 0
      ? NOTHING_KEPT
      : await readStoredValues({ ...deps, manifest, targets: prepared.targets }, defined, {
          session: id,
          agent: manifest.name,
          user,
          metadata: values,
        });
  const isKept = (name: string) => defined.some((each) => each.name === name);
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !isKept(name)));
  const vars = { ...variableDefaults(manifest), ...found.values, ...lineage?.variables, ...own };
  const started = {
    type: 'session.started',
    agent: manifest.name,
    input: start.input,
    manifest: pinOf(prepared),
    model: prepared.model.id,
    ...(lineage === undefined ? {} : { parent: lineage.parent }),
    ...(manifest.protocol.seal ? { seal: randomBytes(SEAL_BYTES).toString('base64url') } : {}),
    environment: environmentOf(deps.clock, agent.folder),
    ...(start.maxTurns === undefined ? {} : { max_turns: start.maxTurns }),
    ...(start.chat === true ? { chat: true as const } : {}),
    ...(lead === undefined && manifest.workflow === null ? {} : { led: true as const }),
    vars: prepared.derived?.initial(vars, values) ?? vars,
    ...classesOf(manifest),
    ...(defined.some(({ key }) => key === 'user') ? { user } : {}),
    metadata: values,
    ...(prepared.metadata.states.length === 0 ? {} : { states: prepared.metadata.states }),
    ...(manifest.budget === undefined
      ? {}
      : { balance: Math.min(manifest.budget.balance, lineage?.balance ?? Number.POSITIVE_INFINITY) }),
  } as const;
  return { started, dropped, given, problems: found.problems };
}

const notTalkedTo = (agent: string, workflow: string) =>
  new RuntimeError(
    'bad_option',
    `The agent "${agent}" is led by its workflow "${workflow}", so you cannot chat with it.`,
    {
      hint: 'Run it with "telltale run", and send it messages while it works: telltale steer SESSION "…"',
    },
  );

const NOTHING_KEPT: StoredValues = { values: {}, problems: [] };
