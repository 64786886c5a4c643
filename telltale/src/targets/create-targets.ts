import { resolve } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadedManifest, Project } from '../manifest/project/project.ts';
import type { BUILTIN_TOOLS } from '../manifest/schema/imports.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import { createPermissions } from './access/permissions.ts';
import { calculator } from './builtin/calculator/calculator.ts';
import { clock } from './builtin/clock.ts';
import { filesystem } from './builtin/filesystem/filesystem.ts';
import { git } from './builtin/git/git.ts';
import { httpFetch } from './builtin/http-fetch.ts';
import { shell } from './builtin/shell.ts';
import { systemMonitor } from './builtin/system-monitor.ts';
import { type Resolver, systemResolver } from './http/checked-lookup.ts';
import { llmTargets } from './llm/llm-targets.ts';
import type { Env } from './process/child-environment.ts';
import type { RelicStore } from './relics/relic-store.ts';
import { relicTarget } from './relics/relic-target.ts';
import type { Approve, Target, TargetTable } from './target.ts';
import type { TargetEdges } from './target-edges.ts';
import { toolTarget } from './tools/tool-target.ts';

export interface TargetsOptions {
  readonly agent: AgentManifest;
  /** What the agent was loaded with: its imports are found there. */
  readonly project: Project;
  /** The agent's folder: paths of calls and `permissions.paths` are relative to it. */
  readonly folder: string;
  readonly clock: Clock;
  readonly env: Env;
  readonly store: RelicStore;
  readonly openModel: (ref: string) => Promise<Model>;
  /** Without it, what has to be asked is refused. */
  readonly approve?: Approve | undefined;
  /** Between SIGTERM and SIGKILL of a command. */
  readonly graceMs?: number;
  /** In place of the system's resolver. */
  readonly resolveHost?: Resolver;
}

const DEFAULT_GRACE_MS = 5_000;

/**
 * All that an agent's actions can call: its tools, relics and prompts. Nothing in it belongs to a session, so one table
 * serves all sessions of an agent. Rejects where the manifest asks for what cannot be had.
 */
export async function createTargets(options: TargetsOptions): Promise<TargetTable> {
  const { agent, project } = options;
  const folder = resolve(options.folder);
  const edges: TargetEdges = {
    folder,
    agentName: agent.name,
    clock: options.clock,
    env: options.env,
    permissions: createPermissions(agent.permissions, folder, options.approve),
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    resolveHost: options.resolveHost ?? systemResolver,
  };
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === agent.name);
  if (loaded === undefined) throw notInProject(agent.name, project.root);
  const table = new Map<string, Target>();
  const add = (target: Target) => {
    const key = `${target.kind} ${target.name}`;
    if (table.has(key)) throw nameTaken(target);
    table.set(key, target);
  };
  for (const target of importedTargets(loaded, project, options.store, edges)) add(target);
  for (const target of llmTargets(agent, options.openModel)) add(target);
  const all = Object.freeze([...table.values()]);
  return {
    all,
    find: (kind, name) => table.get(`${kind} ${name}`),
    close: () => Promise.resolve(),
  };
}

/** In the order of the imports; then what stands beside the agent in its own file. */
function* importedTargets(
  agent: LoadedManifest,
  project: Project,
  store: RelicStore,
  edges: TargetEdges,
): Generator<Target> {
  const seen = new Set<string>();
  const byId = new Map(project.manifests.map((manifest) => [manifest.id, manifest]));
  for (const entry of agent.imports) {
    if (entry.type === 'mcp') throw mcpNotBuilt(entry.name, agent.file);
    if (entry.type === 'builtin') {
      if (seen.has(entry.name)) continue;
      seen.add(entry.name);
      yield BUILTINS[entry.name as keyof typeof BUILTINS](edges);
      continue;
    }
    for (const id of entry.manifests) yield* targetOf(byId.get(id), seen, store, edges);
  }
  for (const beside of project.manifests)
    if (beside.file === agent.file) yield* targetOf(beside, seen, store, edges);
}

function* targetOf(
  loaded: LoadedManifest | undefined,
  seen: Set<string>,
  store: RelicStore,
  edges: TargetEdges,
): Generator<Target> {
  if (loaded === undefined || seen.has(loaded.id)) return;
  seen.add(loaded.id);
  const { manifest, file } = loaded;
  switch (manifest.kind) {
    case 'Tool':
      yield toolTarget(manifest, file, edges);
      return;
    case 'Relic':
      yield relicTarget(manifest, file, store, edges);
      return;
    case 'Agent':
    case 'Workflow':
    case 'Artifact':
      return;
  }
}

const BUILTINS: Readonly<Record<(typeof BUILTIN_TOOLS)[number], (edges: TargetEdges) => Target>> = {
  filesystem,
  shell,
  git,
  http_fetch: httpFetch,
  calculator,
  system_monitor: systemMonitor,
  clock,
};

const notInProject = (name: string, root: string) =>
  new RuntimeError('agent_unknown', `The agent "${name}" is not in the project ${root}.`, {
    hint: 'Pass the project that it was loaded with.',
  });

const nameTaken = ({ kind, name }: Target) =>
  new RuntimeError('name_taken', `Two things that actions can call are named ${kind} "${name}".`, {
    hint: 'Give one of them another name; a built-in tool has its own.',
  });

const mcpNotBuilt = (name: string, file: string) =>
  new RuntimeError('not_built', `The MCP server "${name}" (${file}) cannot be used yet.`, {
    hint: 'Leave it out of "import: { tools }".',
  });
