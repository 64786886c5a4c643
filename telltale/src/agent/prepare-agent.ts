import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isOwnFeed } from '../feeds/feed.ts';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import { holdsInfinity, type Json, type JsonObject } from '../lib/json.ts';
import type { LoadTokenizer } from '../lib/tokens.ts';
import { BUILTIN_FEED } from '../log/fold-values.ts';
import type { SessionState } from '../log/state.ts';
import type { AgentManifest, WorkflowManifest } from '../manifest/schema/kinds.ts';

import { namedOptions, namedRef } from '../manifest/schema/model-options.ts';
import { once } from '../manifest/schema/plain-values.ts';

import { compileUserSchema } from '../manifest/schema/user-schemas/check-user-schema.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../models/context-windows.ts';
import type { Model } from '../models/model.ts';
import { type ModelSettings, openedLater, openModel, withSettings } from '../models/open-model.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import type { Store } from '../store/store.ts';
import { compileCheck } from '../tools/check-parameters.ts';
import { type AgentTargets, createTargets } from '../tools/create-targets.ts';
import type { OpenMcpServer } from '../tools/mcp/mcp-server.ts';
import type { FindSandbox } from '../tools/process/find-sandbox.ts';
import type { Sandbox } from '../tools/sandbox/sandbox.ts';
import type { Target } from '../tools/target.ts';
import type { CompiledTriggers } from '../triggers/compile-triggers.ts';
import { type AgentFamily, agentTarget } from './children/agent-target.ts';
import { agentCode, isInCode } from './define/agent-code.ts';
import { judgeOutput } from './define/define-agent.ts';
import { allowedInternalActions, ledInternalAction } from './internal/internal-actions.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { createMetadata, isDeeperThan, type Metadata } from './metadata/metadata.ts';
import { type Face, makeFace } from './model-interface.ts';
import { createArtifactStoreOpener, type OpenArtifactStore } from './open-artifact-store.ts';
import { shownManifest } from './runs/find-workflow.ts';
import { isManual, workflowsOf } from './runs/run-types.ts';
import { createToAction, type ToAction } from './to-action.ts';
import { DIALECT_WORDS } from './turn/dialect-words.ts';
import type { DerivedTriggers, DerivedVariables } from './variables/derived-triggers.ts';

/** All of an agent that its sessions share: compiled once, so that a session of its own costs little. */
export interface PreparedAgent {
  readonly agent: LoadedAgent<unknown>;
  /** What the logs of its sessions say of its manifest. */
  readonly source: SessionState['manifest'];
  readonly model: Model;
  /** What a turn asks where that has failed for good. */
  readonly fallbacks: readonly Model[];
  readonly fastModel: () => Promise<Model>;
  readonly targets: AgentTargets;
  /** The agents that it may call, by name. */
  readonly agents: ReadonlyMap<string, LoadedAgent<unknown>>;
  /** Its workflows by name. */
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  /** What sets them off, where something in a session does. */
  readonly triggers: CompiledTriggers | undefined;
  /** Decision artifacts, and the way to ask them. */
  readonly artifactStore: OpenArtifactStore;
  /** What `${agent.manifest}` shows. */
  readonly shownManifest: () => JsonObject;
  readonly metadata: Metadata;
  /** Where it has derived variables. */
  readonly derived: DerivedVariables | undefined;
  readonly toAction: ToAction;
  readonly checkOutput: (text: string) => CheckedOutput;
  /** Where its manifest cuts parts of the prompt. */
  readonly parts: PartLimits | undefined;
  /** What a session shows its model: one that is led also how steps are completed. */
  readonly face: (led: boolean) => Face;
  /** The same agent as it is now: another where its MCP servers list something else. Throws as `targets.latest` does. */
  latest(): PreparedAgent;
}

export interface PrepareDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the process. */
  readonly cwd?: string;
  /** Folders whose manifests this process loads when they change. */
  readonly served?: readonly string[];
  /** Finds the sandbox of commands; by default it is looked for once. */
  readonly findSandbox?: FindSandbox;
  readonly mcp?: OpenMcpServer | undefined;
  /** Of scripts. */
  readonly sandbox?: Sandbox | undefined;
  /** Types of triggers of derived variables beside the built-in ones. */
  readonly derivedTriggers?: DerivedTriggers | undefined;
  readonly tokenizer: LoadTokenizer;
}

export async function prepareAgent(
  deps: PrepareDeps & { readonly findSandbox: FindSandbox; readonly family: AgentFamily },
  agent: LoadedAgent<unknown>,
  chosen: string | Model | undefined,
  /** It is only looked at: nothing is written into the store. */
  isLook = false,
): Promise<PreparedAgent> {
  const { store, clock, env, cwd, served, findSandbox, family, mcp, sandbox } = deps;
  const { manifest, folder } = agent;
  checkStores(agent);
  const parts = await partLimitsOf(manifest, deps.tokenizer);
  const derived = await derivedOf(manifest, deps.derivedTriggers);
  const artifactStore = createArtifactStoreOpener(deps);
  if (!isLook) await seedArtifacts(agent, artifactStore);
  const named = chosen ?? manifest.model;
  if (named === undefined) throw noModel(manifest.name);
  const code = agentCode(agent);
  const open = async (ref: string, settings: ModelSettings = {}) => {
    const entry = manifest.models[ref];
    const reference = namedRef(entry) ?? ref;
    const opened = code?.models.get(reference) ?? (await openModel(reference, { env, folder, clock }));
    return withSettings(opened, { ...settings, options: { ...settings.options, ...namedOptions(entry) } });
  };
  const own = { contextWindow: manifest.context_window, options: manifest.model_options };
  const later = (ref: string, settings: ModelSettings) =>
    openedLater(namedRef(manifest.models[ref]) ?? ref, () => open(ref, settings));
  const fallbacks = manifest.fallback_models.map((ref) => later(ref, { options: manifest.model_options }));
  const opening = typeof named === 'string' ? open(named, own) : Promise.resolve(withSettings(named, own));
  const model = await opening.catch((thrown: unknown) => {
    if (typeof named !== 'string' || fallbacks.length === 0) throw thrown;
    return later(named, own);
  });
  const { contextWindow = DEFAULT_CONTEXT_WINDOW } = model;
  const agents = family.callableBy(agent);
  const workflows = workflowsOf(agent);
  const targets = await createTargets({
    // Prompts that name no model ask the one that the agent runs on, also where its manifest names none.
    agent: manifest.model === undefined ? { ...manifest, model: model.id } : manifest,
    project: agent.project,
    folder,
    clock,
    env,
    ...(cwd === undefined ? {} : { cwd }),
    ...(served === undefined ? {} : { served }),
    store,
    // Whoever names the agent's own model means the one it really runs on.
    openModel: (ref) => (ref === (manifest.model ?? model.id) ? Promise.resolve(model) : open(ref)),
    findSandbox,
    agents: agents.map((callable) => agentTarget(callable.manifest)),
    workflows: [...workflows.values()]
      // What leads the agent is not for it to start.
      .filter((workflow) => isManual(workflow) && workflow.name !== manifest.workflow)
      .map(workflowTarget),
    mcp,
    sandbox,
  });
  const allowed = allowedInternalActions(manifest);
  const fixed = {
    agent,
    source: { path: agent.path, hash: agent.hash, ...(isInCode(agent) ? { code: true as const } : {}) },
    model,
    fallbacks,
    fastModel: () => (manifest.models.fast === undefined ? Promise.resolve(model) : open('fast')),
    agents: new Map(agents.map((callable) => [callable.manifest.name, callable])),
    workflows,
    triggers: await triggersOf([...workflows.values()]),
    artifactStore,
    shownManifest: once(() => shownManifest(manifest)),
    metadata: createMetadata(manifest.metadata),
    derived,
    parts,
    checkOutput: createOutputCheck(
      manifest.output?.schema,
      DIALECT_WORDS[manifest.dialect].output,
      code?.output,
    ),
  };
  const internal = [...allowed, ledInternalAction()].map(({ name, parameters }) => ({
    kind: 'internal' as const,
    name,
    parameters,
  }));
  const over = (table: AgentTargets): PreparedAgent => {
    const plain = makeFace(manifest, table.all, allowed, parts, false, contextWindow);
    const led = once(() =>
      makeFace(manifest, table.all, [...allowed, ledInternalAction()], parts, true, contextWindow),
    );
    const prepared: PreparedAgent = {
      ...fixed,
      targets: table,
      toAction: createToAction(manifest.action_templates, [...table.all, ...internal]),
      face: (isLed) => (isLed ? led() : plain),
      latest() {
        const latest = table.latest();
        return latest === table ? prepared : over(latest);
      },
    };
    return prepared;
  };
  return over(targets);
}

/** The matcher is loaded by those who have something to match. */
async function triggersOf(workflows: readonly WorkflowManifest[]): Promise<CompiledTriggers | undefined> {
  if (workflows.length === 0) return undefined;
  const { compileTriggers } = await import('../triggers/compile-triggers.ts');
  const compiled = compileTriggers(workflows);
  return compiled.all.length === 0 ? undefined : compiled;
}

/** Those of its manifests go into the store, where it has any. */
async function seedArtifacts(
  { manifest, project }: LoadedAgent<unknown>,
  artifactStore: OpenArtifactStore,
): Promise<void> {
  if (!project.manifests.some(({ kind }) => kind === 'Artifact')) return;
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);
  if (loaded !== undefined) await (await artifactStore()).seed(loaded, project);
}

/** What runs derived variables is loaded by agents that have any. */
async function derivedOf(
  manifest: LoadedAgent['manifest'],
  registered: DerivedTriggers = {},
): Promise<DerivedVariables | undefined> {
  if (manifest.context_variables.derived.length === 0) return undefined;
  const { prepareDerived } = await import('./variables/derived-triggers.ts');
  return prepareDerived(manifest, registered);
}

const noModel = (agent: string) =>
  new RuntimeError('no_model', `The agent "${agent}" has no model.`, {
    hint: 'Add "model: provider/model" or "model: scripted:FILE" to its manifest, or use --model.',
  });

/** The tokenizer is loaded by those who have something to cut. */
async function partLimitsOf(
  { context_feeds: feeds }: AgentManifest,
  tokenizer: LoadTokenizer,
): Promise<PartLimits | undefined> {
  const cut = feeds.flatMap((feed) =>
    isOwnFeed(feed) || feed.max_tokens === undefined
      ? []
      : [[feed.id.slice(BUILTIN_FEED.length), feed.max_tokens] as const],
  );
  return cut.length === 0 ? undefined : { tokenizer: await tokenizer(), maxTokens: Object.fromEntries(cut) };
}

/** Throws where a defined variable is to be kept in a relic that is no database. */
function checkStores({ manifest, project }: LoadedAgent<unknown>): void {
  for (const { name, store } of manifest.context_variables.defined) {
    if (store === undefined) continue;
    const relic = project.manifests.find((each) => each.kind === 'Relic' && each.name === store)?.manifest;
    if (relic?.kind === 'Relic' && relic.driver !== 'sql')
      throw noDatabase(manifest.name, name, store, relic.driver);
  }
}

const noDatabase = (agent: string, variable: string, relic: string, driver: string) =>
  new RuntimeError(
    'bad_manifest',
    `The variable "${variable}" of the agent "${agent}" is kept in the relic "${relic}", whose driver is ${driver}.`,
    { hint: 'Name a relic of driver sql, or leave "store" out: then the runtime\'s own store keeps it.' },
  );

/** A run that is cancelled may wait for its steps to stop, and undo what it did. */
const GRACE_MS = 60_000;

const ANY_OBJECT: JsonObject = { type: 'object' };

/** A workflow as something that actions can call. It is run by the session that calls it. */
function workflowTarget(manifest: WorkflowManifest): Target {
  const { name, description } = manifest;
  const parameters = (manifest.input as JsonObject | undefined) ?? ANY_OBJECT;
  return {
    kind: 'workflow',
    name,
    description: description ?? `The workflow ${name}.`,
    parameters,
    // After a crash its run goes on where its log ends: no step that has completed is done again.
    idempotent: true,
    start: 'on_close',
    timeoutMs: Number.POSITIVE_INFINITY, // its steps have limits of their own, and may wait for days
    graceMs: GRACE_MS,
    check: compileCheck(parameters, `workflow "${name}"`),
    run: () => Promise.reject(notInSession(name)),
  };
}

const notInSession = (name: string) =>
  new RuntimeError('workflow_outside', `The workflow "${name}" can be called only from a session.`, {
    hint: 'Start a run of it with runtime.workflows.start.',
  });

export type CheckedOutput =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };

/** Reads a final response as the agent's `output.schema` wants it; without one, the text itself is the result. */
export function createOutputCheck(
  schema: JsonObject | undefined,
  /** Where it belongs, in the words of the dialect. */
  where: string,
  standard?: StandardSchemaV1,
): (text: string) => CheckedOutput {
  if (schema === undefined) return (text) => ({ ok: true, value: text });
  const violation = standard === undefined ? compiledSchema(schema) : standardViolation(standard);
  return (text) => {
    const bare = withoutFence(text.trim());
    let value: Json;
    try {
      value = JSON.parse(bare) as Json;
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      return {
        ok: false,
        problem: `Your final response must be JSON of the output schema and nothing else, but it cannot be read: ${why}. ${where}`,
      };
    }
    const wrong = isDeeperThan(value, MAX_OUTPUT_DEPTH)
      ? TOO_DEEP
      : holdsInfinity(value)
        ? NOT_FINITE
        : violation(value);
    if (wrong === undefined) return { ok: true, value };
    return {
      ok: false,
      problem: `Your final response is JSON, but not of the output schema: ${wrong}. Fix it and respond again.`,
    };
  };
}

/** As deep as what a tool returns: whoever writes, compares or judges it walks down it. */
const MAX_OUTPUT_DEPTH = 100;

const TOO_DEEP = `it is nested deeper than ${MAX_OUTPUT_DEPTH} levels`;
const NOT_FINITE = 'a number in it is too large to be kept (1.8e308 is the limit)';

function compiledSchema(schema: JsonObject): (value: Json) => string | undefined {
  const compiled = compileUserSchema(schema);
  if (!compiled.ok) throw badSchema(compiled.error[0]?.message ?? 'it cannot be used');
  return compiled.value;
}

/** Where the agent was written in code, its own schema judges; the JSON Schema is what the model reads. */
const standardViolation =
  (standard: StandardSchemaV1) =>
  (value: Json): string | undefined => {
    const judged = judgeOutput(standard, value);
    return judged.ok ? undefined : judged.problem.replace(/\.$/, '');
  };

/** Only an agent that was made in code can come this far with one. */
const badSchema = (why: string) =>
  new RuntimeError('bad_manifest', `The schema of "output" is wrong: ${why}`, {
    hint: 'Give a JSON Schema (2020-12).',
  });

/** Models like to put JSON into a fence. */
function withoutFence(text: string): string {
  const fence = /^(`{3,})[^\n`]*\n/.exec(text);
  const run = fence?.[1];
  if (fence === null || run === undefined || !text.endsWith(run)) return text;
  return text.slice(fence[0].length, -run.length);
}
