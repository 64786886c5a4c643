import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Model } from '../models/model.ts';
import { openModel } from '../models/open-model.ts';
import { type Opening, openingOf } from '../prompt/conversation.ts';
import { systemPrompt } from '../prompt/primer.ts';
import type { Store } from '../store/store.ts';
import { createTargets } from '../targets/create-targets.ts';
import type { OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import type { Sandbox } from '../targets/sandbox/sandbox.ts';
import type { Approve, TargetTable } from '../targets/target.ts';
import { createOutputCheck } from './check-output.ts';
import type { CheckedOutput } from './context.ts';
import { allowedInternalActions, INTERNAL_ACTIONS, type InternalAction } from './internal-actions.ts';
import { createMetadata, type Metadata } from './metadata/metadata.ts';
import { refuseNotBuilt } from './refuse-not-built.ts';
import type { LoadedAgent } from './runtime-types.ts';
import { createToAction, type ToAction } from './to-action.ts';

/** All of an agent that its sessions share: compiled once, so that a session of its own costs little. */
export interface PreparedAgent {
  readonly agent: LoadedAgent;
  readonly model: Model;
  readonly fastModel: () => Promise<Model>;
  readonly targets: TargetTable;
  readonly internal: readonly InternalAction[];
  readonly metadata: Metadata;
  readonly toAction: ToAction;
  readonly checkOutput: (text: string) => CheckedOutput;
  readonly opening: (seal: string | undefined) => Opening;
}

export interface PrepareEdges {
  readonly store: Store;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly approve?: Approve | undefined;
  readonly mcp?: OpenMcpServer | undefined;
  readonly sandbox?: Sandbox | undefined;
}

export interface AgentShelf {
  /** Prepares an agent, or gives what was prepared for it before. `model` counts in place of the manifest's own. */
  prepare(agent: LoadedAgent, model: string | Model | undefined): Promise<PreparedAgent>;
  close(): Promise<void>;
}

export function createAgentShelf(edges: PrepareEdges): AgentShelf {
  const shelf = new Map<LoadedAgent, Map<string | Model | undefined, Promise<PreparedAgent>>>();
  return {
    prepare(agent, model) {
      let kept = shelf.get(agent);
      if (kept === undefined) {
        kept = new Map();
        shelf.set(agent, kept);
      }
      const found = kept.get(model);
      if (found !== undefined) return found;
      const made = prepareAgent(edges, agent, model);
      const variants = kept;
      variants.set(model, made);
      made.catch(() => variants.delete(model)); // what failed once may succeed later: a key is set, a file is there
      return made;
    },
    async close() {
      for (const kept of shelf.values())
        for (const made of kept.values()) {
          const prepared = await made.catch(() => undefined);
          await prepared?.targets.close();
        }
      shelf.clear();
    },
  };
}

async function prepareAgent(
  { store, clock, env, approve, mcp, sandbox }: PrepareEdges,
  agent: LoadedAgent,
  chosen: string | Model | undefined,
): Promise<PreparedAgent> {
  const { manifest, folder } = agent;
  refuseNotBuilt(agent, INTERNAL_ACTIONS);
  const named = chosen ?? manifest.model;
  if (named === undefined) throw noModel(manifest.name);
  const open = (ref: string) => openModel(manifest.models[ref] ?? ref, { env, folder, clock });
  const model = typeof named === 'string' ? await open(named) : named;
  const fast = manifest.models.fast;
  const targets = await createTargets({
    agent: manifest,
    project: agent.project,
    folder,
    clock,
    env,
    store,
    // Whoever names the agent's own model means the one it really runs on.
    openModel: (ref) => (ref === manifest.model ? Promise.resolve(model) : open(ref)),
    approve,
    mcp,
    sandbox,
  });
  const internal = allowedInternalActions(manifest.internal_actions);
  const openingFor = (seal: string | undefined) => {
    const system = systemPrompt(manifest, { targets: targets.all, internalActions: internal, sealKey: seal });
    return openingOf({ system, agent: manifest, seal });
  };
  const unsealed = openingFor(undefined);
  return {
    agent,
    model,
    fastModel: () => (fast === undefined ? Promise.resolve(model) : open(fast)),
    targets,
    internal,
    metadata: createMetadata(manifest.metadata),
    toAction: createToAction(manifest.action_templates),
    checkOutput: createOutputCheck(manifest.output?.schema),
    opening: (seal) => (seal === undefined ? unsealed : openingFor(seal)),
  };
}

const noModel = (agent: string) =>
  new RuntimeError('no_model', `The agent "${agent}" names no model.`, {
    hint: 'Write "model: provider/model" or "model: scripted:FILE" into its manifest, or give --model.',
  });
