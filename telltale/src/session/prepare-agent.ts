import type { SessionState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { once } from '../manifest/schema/once.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../models/context-windows.ts';
import type { Model } from '../models/model.ts';
import { openModel } from '../models/open-model.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import type { Store } from '../store/store.ts';
import { type AgentTargets, createTargets } from '../targets/create-targets.ts';
import type { OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import type { FindSandbox } from '../targets/process/find-sandbox.ts';
import type { Sandbox } from '../targets/sandbox/sandbox.ts';
import type { CompiledTriggers } from '../triggers/compile-triggers.ts';
import { createOpenDesk, type OpenDesk } from './artifact-desk.ts';
import { type CheckedOutput, createOutputCheck } from './check-output.ts';
import type { AgentFamily } from './children/agent-family.ts';
import { agentTarget } from './children/agent-target.ts';
import { agentCode, isInCode } from './define/agent-code.ts';
import { allowedInternalActions, ledInternalAction } from './internal/internal-actions.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { type Face, makeFace } from './make-face.ts';
import { createMetadata, type Metadata } from './metadata/metadata.ts';
import { partLimitsOf } from './part-limits-of.ts';
import { shownManifest } from './runs/shown-manifest.ts';
import { isManual, workflowsOf } from './runs/workflow-catalog.ts';
import { workflowTarget } from './runs/workflow-target.ts';
import { createToAction, type ToAction } from './to-action.ts';
import { DIALECT_WORDS } from './turn/dialect-words.ts';
import { checkStores } from './variables/check-stores.ts';
import type { DerivedTriggers, DerivedVariables } from './variables/derived-triggers.ts';

/** All of an agent that its sessions share: compiled once, so that a session of its own costs little. */
export interface PreparedAgent {
  readonly agent: LoadedAgent<unknown>;
  /** What the logs of its sessions say of its manifest. */
  readonly source: SessionState['manifest'];
  readonly model: Model;
  readonly fastModel: () => Promise<Model>;
  readonly targets: AgentTargets;
  /** The agents that it may call, by name. */
  readonly agents: ReadonlyMap<string, LoadedAgent<unknown>>;
  /** Its workflows by name. */
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  /** What sets them off, where something in a session does. */
  readonly triggers: CompiledTriggers | undefined;
  /** Decision artifacts, and the way to ask them. */
  readonly desk: OpenDesk;
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
  const desk = createOpenDesk(deps);
  if (!isLook) await seedArtifacts(agent, desk);
  const named = chosen ?? manifest.model;
  if (named === undefined) throw noModel(manifest.name);
  const code = agentCode(agent);
  const open = async (ref: string) => {
    const reference = manifest.models[ref] ?? ref;
    return code?.models.get(reference) ?? openModel(reference, { env, folder, clock });
  };
  const model = withWindow(typeof named === 'string' ? await open(named) : named, manifest.context_window);
  const { contextWindow = DEFAULT_CONTEXT_WINDOW } = model;
  const fast = manifest.models.fast;
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
    fastModel: () => (fast === undefined ? Promise.resolve(model) : open(fast)),
    agents: new Map(agents.map((callable) => [callable.manifest.name, callable])),
    workflows,
    triggers: await triggersOf([...workflows.values()]),
    desk,
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

/** The same model, which can read as much as the manifest says. */
function withWindow(model: Model, contextWindow: number | undefined): Model {
  if (contextWindow === undefined || contextWindow === model.contextWindow) return model;
  const told = {
    id: model.id,
    contextWindow,
    // A price of somebody's own may change.
    get price() {
      return model.price;
    },
    requestOptions: model.requestOptions?.bind(model),
    stream: (request, sink) => model.stream(request, sink),
  } satisfies { [Field in keyof Model]-?: Model[Field] | undefined };
  return told as Model;
}

/** The matcher is loaded by those who have something to match. */
async function triggersOf(workflows: readonly WorkflowManifest[]): Promise<CompiledTriggers | undefined> {
  if (workflows.length === 0) return undefined;
  const { compileTriggers } = await import('../triggers/compile-triggers.ts');
  const compiled = compileTriggers(workflows);
  return compiled.all.length === 0 ? undefined : compiled;
}

/** Those of its manifests go into the store, where it has any. */
async function seedArtifacts({ manifest, project }: LoadedAgent<unknown>, desk: OpenDesk): Promise<void> {
  if (!project.manifests.some(({ kind }) => kind === 'Artifact')) return;
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);
  if (loaded !== undefined) await (await desk()).seed(loaded, project);
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
