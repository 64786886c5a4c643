import { homedir, platform, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Project } from '../manifest/project/project.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import { agentFiles } from './access/agent-files.ts';
import { createPermissions } from './access/permissions.ts';
import { storeFiles } from './access/store-files.ts';
import { type Resolver, systemResolver } from './http/checked-lookup.ts';
import { importedTargets } from './imported-targets.ts';
import { type AskText, createAskText } from './llm/ask-text.ts';
import { llmTargets } from './llm/llm-targets.ts';
import type { OpenMcpServer } from './mcp/mcp-server.ts';
import { closeServers, openServers } from './mcp/open-servers.ts';
import type { Env } from './process/child-environment.ts';
import { createConfinement } from './process/confinement.ts';
import { createSandboxFinder, type FindSandbox } from './process/find-sandbox.ts';
import { createRunCommand } from './process/run-command.ts';
import type { RelicStore } from './relics/relic-store.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Target, TargetTable } from './target.ts';
import type { TargetEdges } from './target-edges.ts';

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
  /** The agents that it may call: only a session can run one. */
  readonly agents?: readonly Target[];
  /** The workflows that its actions may call: only a session can run one. */
  readonly workflows?: readonly Target[];
  /** Between SIGTERM and SIGKILL of a command. */
  readonly graceMs?: number;
  /** In place of the system's resolver. */
  readonly resolveHost?: Resolver;
  /** Finds bubblewrap; one that is shared looks for it once. */
  readonly findSandbox?: FindSandbox;
  /** Starts MCP servers. Without it an agent that imports one is refused. */
  readonly mcp?: OpenMcpServer | undefined;
  /** Where scripts run; one of the table's own if absent. */
  readonly sandbox?: Sandbox | undefined;
}

/** The targets of an agent, and what programs, scripts and questions that stand in a workflow need to run as they do. */
export interface AgentTargets extends TargetTable {
  readonly edges: TargetEdges;
  readonly ask: AskText;
}

const DEFAULT_GRACE_MS = 5_000;
const HOMES = ['/home', '/root'];
const TEMPORARY = ['/tmp', '/var/tmp', '/run'];

/**
 * All that an agent's actions can call: its tools, relics and prompts. Nothing in it belongs to a session, so one table
 * serves all sessions of an agent. Rejects where the manifest asks for what cannot be had.
 */
export async function createTargets(options: TargetsOptions): Promise<AgentTargets> {
  const { agent, project } = options;
  const folder = resolve(options.folder);
  const permissions = createPermissions(agent.permissions, folder, platform() !== 'win32', {
    own: storeFiles(options.store.location),
    fixed: await agentFiles(project),
  });
  const { env } = options;
  const closers: (() => Promise<void>)[] = [];
  const own: Omit<TargetEdges, 'servers'> = {
    folder,
    agentName: agent.name,
    clock: options.clock,
    env,
    permissions,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    resolveHost: options.resolveHost ?? systemResolver,
    confinement: createConfinement({
      permissions,
      folder,
      find: options.findSandbox ?? createSandboxFinder(env),
      homes: [env.HOME ?? homedir(), homedir(), ...HOMES],
      temporary: [tmpdir(), env.TMPDIR ?? tmpdir(), ...TEMPORARY],
    }),
    atClose: (close) => closers.push(close),
    sandbox: options.sandbox ?? createSandbox(options),
  };
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === agent.name);
  if (loaded === undefined) throw notInProject(agent.name, project.root);
  const servers = await openServers(agent.import.tools, options.mcp, own);
  const edges: TargetEdges = { ...own, servers };
  const table = new Map<string, Target>();
  const add = (target: Target) => {
    const key = `${target.kind} ${target.name}`;
    if (table.has(key)) throw nameTaken(target);
    table.set(key, target);
  };
  try {
    for await (const target of importedTargets(loaded, project, options.store, edges)) add(target);
    for (const target of llmTargets(agent, options.openModel)) add(target);
    for (const target of options.agents ?? []) add(target);
    for (const target of options.workflows ?? []) add(target);
  } catch (thrown) {
    await closeServers(servers);
    throw thrown;
  }
  const all = Object.freeze([...table.values()]);
  // A prompt's answer takes seconds anyway, and an agent without tools then never loads the compiler.
  const endWarmUp = warmUp(all.filter(({ kind }) => kind !== 'llm'));
  return {
    all,
    edges,
    ask: createAskText(agent, options.openModel),
    find: (kind, name) => table.get(`${kind} ${name}`),
    command: createRunCommand(own),
    async close() {
      endWarmUp();
      await Promise.all(closers.splice(0).map((end) => end()));
      await closeServers(servers);
      if (options.sandbox === undefined) await edges.sandbox.close();
    },
  };
}

/**
 * Compiles the schemas one by one, between other work and while the model is still thinking: the first of a process
 * takes tens of milliseconds, which the first action should not wait for.
 */
function warmUp(targets: readonly Target[]): () => void {
  const waiting = [...targets];
  const next = () => {
    waiting.shift()?.check({});
    if (waiting.length > 0) timer = setImmediate(next).unref();
  };
  let timer = setImmediate(next).unref();
  return () => clearImmediate(timer);
}

const notInProject = (name: string, root: string) =>
  new RuntimeError('agent_unknown', `The agent "${name}" is not in the project ${root}.`, {
    hint: 'Pass the project that it was loaded with.',
  });

const nameTaken = ({ kind, name }: Target) =>
  new RuntimeError('name_taken', `Two things that actions can call are named ${kind} "${name}".`, {
    hint: 'Give one of them another name; a built-in tool has its own, and those of an MCP server begin with its name.',
  });
