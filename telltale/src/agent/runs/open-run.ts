import { readRunEvents } from '../../engine/read-run.ts';
import type { RunJournal } from '../../engine/run-log.ts';
import { createRunLog } from '../../engine/run-log.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { foldRun } from '../../log/reduce-run.ts';
import type { RunEventBody, RunManifest } from '../../log/run-event.ts';
import { emptyRun } from '../../log/run-state.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { mayBeLost } from '../../store/quarantine.ts';
import type { StreamHead, StreamWriter } from '../../store/store.ts';
import { pinSteps } from '../../workflows/changes/plan-changes.ts';
import { takeEmptyStream, titleOf } from '../begin-stream.ts';
import { codeFilesOf } from '../code-files.ts';
import { isInCode } from '../define/agent-code.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { classOf } from '../variables/declared-variables.ts';
import { givenWrites, readKeptByRun } from './kept-variables.ts';
import type { NewRun } from './new-run.ts';
import type { RunsDeps } from './run-environment.ts';

/** A run whose stream this process holds. */
export interface HeldRun {
  readonly writer: StreamWriter;
  readonly journal: RunJournal;
  /** Of a run that was just begun: settles once its stream is committed, or refused. */
  readonly made?: Promise<void>;
  /** Whether its stream is on its way and in no store yet: then nobody can have sent it anything. */
  isNew(): boolean;
  /** Why the stream is no longer ours, once it is not. */
  lost(): RuntimeError | undefined;
  onLost(then: (error: RuntimeError) => void): void;
}

/**
 * Makes the stream of a run with its first event, in one commit, and does not wait for it: what the walk writes before
 * it first waits comes with it. For ids that nobody else can have, since a refusal comes when the walk has begun.
 */
export function beginRun(deps: RunsDeps, run: NewRun): HeldRun & { readonly made: Promise<void> } {
  const { writer, made } = deps.store.begin(run.id, headOf(run));
  let isNew = true;
  const settled = () => {
    isNew = false;
  };
  made.then(settled, settled);
  return { ...startLog(deps, writer, run), made, isNew: () => isNew };
}

/** The same, given once it is committed; and for workflows with variables that are kept, which have to be read first. */
export async function createRun(deps: RunsDeps, asked: NewRun): Promise<HeldRun> {
  const run = { ...asked, kept: await readKeptByRun(deps, asked) };
  const held = beginRun(deps, run);
  try {
    await held.made;
    return held;
  } catch (thrown) {
    await held.writer.release();
    return startLog(deps, await takeEmptyStream(deps.store, run.id, thrown), run);
  }
}

/** The status with which a run's stream is made. */
const AS_MADE = 'running';

function startLog(deps: RunsDeps, writer: StreamWriter, run: NewRun): HeldRun {
  const held = hold(deps, writer, [], AS_MADE);
  const writes = givenWrites(run);
  held.journal.append(firstEvent(run), run.cause, writes.length === 0 ? undefined : { writes });
  return held;
}

function headOf({ workflow, origin: { session, parent } }: NewRun): StreamHead {
  return {
    kind: 'run',
    name: workflow.name,
    status: AS_MADE,
    title: titleOf(workflow.description ?? workflow.name),
    ...(parent !== undefined ? { parent: parent.run } : session === undefined ? {} : { parent: session.id }),
  };
}

/** Takes a run that is there. Refused while another process works on it. */
export async function acquireRun(deps: RunsDeps, id: string): Promise<HeldRun> {
  const writer = await deps.store.acquire(id);
  try {
    const held = hold(deps, writer, await readRunEvents(deps.store, id));
    const { steps } = held.journal.state;
    const { endOrphans, ofStream } = await import('../../tools/process/orphans.ts');
    await endOrphans(
      deps.clock,
      ofStream(id, (step) => steps.get(step)?.endedSeq !== undefined),
    );
    return held;
  } catch (thrown) {
    await writer.release();
    throw thrown;
  }
}

function hold(
  { store, clock, crashPoint, watchers }: RunsDeps,
  writer: StreamWriter,
  events: Parameters<typeof foldRun>[0],
  writtenStatus?: string,
): HeldRun {
  let lost: RuntimeError | undefined;
  const listeners: ((error: RuntimeError) => void)[] = [];
  const onLost = (error: RuntimeError) => {
    lost = error;
    for (const then of listeners) then(error);
  };
  const journal = createRunLog({
    writer,
    clock,
    onLost,
    crashPoint,
    watchers,
    writtenStatus,
    state: foldRun(events, emptyRun()),
    mayBeLost: mayBeLost(store),
  });
  return {
    writer,
    journal,
    isNew: () => false,
    lost: () => lost,
    onLost: (then) => void listeners.push(then),
  };
}

function firstEvent({
  workflow,
  ground: { agent, model },
  input,
  origin,
  vars,
  kept,
  balance,
}: NewRun): RunEventBody {
  const { manifest } = agent;
  return {
    type: 'workflow.started',
    workflow: workflow.name,
    manifest: runPin(agent),
    ...(model === undefined ? {} : { model: typeof model === 'string' ? model : model.id }),
    input,
    origin,
    vars: {
      ...ownDefaults(workflow, origin.session === undefined ? undefined : manifest),
      ...kept?.values,
      ...vars,
    },
    ...(kept === undefined ? {} : { kept: kept.scopes }),
    ...(balance === undefined ? {} : { balance }),
    steps: pinSteps(workflow),
  };
}

/** The definition that a run is pinned to from now on. */
export function runPin(agent: LoadedAgent<unknown>): RunManifest {
  const { path, hash, manifest } = agent;
  const files = codeFilesOf(agent);
  return {
    path,
    hash,
    agent: manifest.name,
    ...(isInCode(agent) ? { code: true as const } : {}),
    ...(files === undefined ? {} : { files }),
  };
}

/** Of the workflow's own variables; those by `expression` follow from others, and those that the session has are its. */
function ownDefaults(
  { context_variables: { defined, runtime, derived } }: WorkflowManifest,
  ofSession: AgentManifest | undefined,
): JsonObject {
  const defaults: Record<string, Json> = {};
  const triggered = derived.filter(({ expression }) => expression === undefined);
  const own = defined.filter(({ name }) => ofSession === undefined || classOf(ofSession, name) !== 'defined');
  for (const { name, default: value } of [...own, ...runtime, ...triggered])
    if (value !== undefined) defaults[name] = value as Json;
  return defaults;
}
