import { readRunEvents } from '../../engine/read-run.ts';
import { createRunLog, type RunJournal } from '../../engine/run-log.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { foldRun } from '../../log/reduce-run.ts';
import type { RunEventBody, RunManifest } from '../../log/run-event.ts';
import { emptyRun } from '../../log/run-state.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { mayBeLost } from '../../store/quarantine.ts';
import type { StreamHead, StreamWriter } from '../../store/store.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import { validateNow } from '../../tools/code/code-tool.ts';
import { plainJson } from '../../tools/output/output.ts';
import { pinSteps } from '../../workflows/changes/plan-changes.ts';
import { takeEmptyStream, titleOf } from '../begin-stream.ts';
import { codeFilesOf } from '../code-files.ts';
import { inputSchemaOf, isInCode } from '../define/agent-code.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { classOf } from '../variables/declared-variables.ts';
import type { NewRun, RunsDeps } from './run-environment.ts';
import { badInput } from './run-errors.ts';
import { initialWrites, readRunValues } from './stored-variables.ts';

/** A run whose stream this process owns. */
export interface HeldRun {
  readonly writer: StreamWriter;
  readonly journal: RunJournal;
  /** For a new run: settles once its stream is committed or refused. */
  readonly created?: Promise<void>;
  /** Whether its stream is not committed yet. Then nobody can have sent it a message. */
  isNew(): boolean;
  /** Why this process no longer owns the stream. Undefined while it does. */
  lost(): RuntimeError | undefined;
  onLost(then: (error: RuntimeError) => void): void;
}

/**
 * Creates the stream of a run with its first event in one commit and does not wait for it. Events that the
 * walk writes before its first wait are part of the same commit. Use it only for ids that nobody else can
 * have, because a refusal comes after the walk has started.
 */
export function beginRun(deps: RunsDeps, run: NewRun): HeldRun & { readonly created: Promise<void> } {
  const { writer, made: created } = deps.store.begin(run.id, headOf(run));
  let isNew = true;
  const settled = () => {
    isNew = false;
  };
  created.then(settled, settled);
  return { ...startLog(deps, writer, run), created, isNew: () => isNew };
}

/** Creates a run and waits for the commit. Stored variables are read first. */
export async function createRun(deps: RunsDeps, asked: NewRun): Promise<HeldRun> {
  const run = { ...asked, kept: await readRunValues(deps, asked) };
  const held = beginRun(deps, run);
  try {
    await held.created;
    return held;
  } catch (thrown) {
    await held.writer.release();
    return startLog(deps, await takeEmptyStream(deps.store, run.id, thrown), run);
  }
}

/** The status of a new run's stream. */
const AS_MADE = 'running';

function startLog(deps: RunsDeps, writer: StreamWriter, run: NewRun): HeldRun {
  const held = hold(deps, writer, [], AS_MADE);
  const writes = initialWrites(run);
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

/** Acquires an existing run. Refused while another process works on it. */
export async function acquireRun(deps: RunsDeps, id: string): Promise<HeldRun> {
  const writer = await deps.store.acquire(id);
  try {
    const held = hold(deps, writer, await readRunEvents(deps.store, id));
    const { steps } = held.journal.state;
    const { endOrphans, isProgramOf: ofStream } = await import('../../tools/process/orphans.ts');
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
  agentSource: { agent, model },
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

/** The definition that a run is pinned to. */
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

/**
 * Defaults of the workflow's own variables. Variables with an `expression` are computed, and those that the
 * session defines belong to the session.
 */
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

/** The maximum size of an input after a program's schema has transformed it. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;
/** The input of a run after the workflow's schema has checked and transformed it. Throws `bad_input`. */
export function readInput(
  agent: LoadedAgent<unknown>,
  workflow: WorkflowManifest,
  input: JsonObject,
): JsonObject {
  const { name } = workflow;
  const schema = inputSchemaOf(agent, name);
  if (schema === undefined) {
    checkInput(workflow, input);
    return input;
  }
  const judged = validateNow(schema, input, () => inputWaits(name));
  if (!judged.ok) throw badInput(name, notTaken(judged.problem));
  const created = jsonOf(name, judged.value);
  if (!isMap(created)) throw badInput(name, notTaken('Its schema makes no object of it.'));
  return created as JsonObject;
}
function checkInput(workflow: WorkflowManifest, input: JsonObject): void {
  if (workflow.input === undefined) return;
  const problem = compileCheck(workflow.input as JsonObject, `workflow "${workflow.name}"`)(input);
  if (problem !== undefined) throw badInput(workflow.name, problem);
}
function jsonOf(workflow: string, value: unknown): Json {
  try {
    return plainJson(value, `the schema of workflow "${workflow}"`, MAX_INPUT_BYTES);
  } catch (thrown) {
    throw badInput(workflow, toRuntimeError(thrown));
  }
}
const notTaken = (problem: string) =>
  new RuntimeError('bad_parameters', problem, { hint: 'Give an input that its schema takes.' });
const inputWaits = (workflow: string) =>
  new RuntimeError(
    'async_schema',
    `The schema of the input of the workflow "${workflow}" answers with a promise.`,
    {
      hint: "Use a schema without asynchronous checks there; those of a tool's parameters may have them.",
    },
  );
