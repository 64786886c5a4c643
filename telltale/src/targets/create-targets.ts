import { homedir, platform, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Project } from '../manifest/project/project.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import { ClosedLocations } from './access/closed-locations.ts';
import { createOwnAddresses } from './access/own-addresses.ts';
import { createPermissions } from './access/permissions.ts';
import { hiddenState, storeFiles } from './access/store-files.ts';
import { type Resolver, systemResolver } from './http/checked-lookup.ts';
import { importedTargets } from './imported-targets.ts';
import { createLiveTables, type NamedTargets } from './live-tables.ts';
import { type AskText, createAskText } from './llm/ask-text.ts';
import { llmTargets } from './llm/llm-targets.ts';
import type { OpenMcpServer } from './mcp/mcp-server.ts';
import { closeServers, openServers } from './mcp/open-servers.ts';
import type { ListedTargets } from './mcp/server-targets.ts';
import type { Env } from './process/child-environment.ts';
import { createConfinement } from './process/confinement.ts';
import { createSandboxFinder, type FindSandbox } from './process/find-sandbox.ts';
import { createRunCommand } from './process/run-command.ts';
import type { RelicStore } from './relics/relic-store.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Target, TargetTable } from './target.ts';
import type { TargetDeps } from './target-edges.ts';

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
  /** The folder of the process; the current one if absent. */
  readonly cwd?: string;
  /** Folders that a server watches or serves: what lies there may be loaded, too. */
  readonly served?: readonly string[];
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
  readonly deps: TargetDeps;
  readonly ask: AskText;
  /**
   * The table of this moment: this one, unless an MCP server lists something else by now. What is called in this table
   * is found in that one first. Throws where it cannot be made: two things have one name, a tool is gone that a Tool
   * stands for.
   */
  latest(): AgentTargets;
}

const DEFAULT_GRACE_MS = 5_000;
const HOMES = ['/home', '/root'];
const TEMPORARY = ['/tmp', '/var/tmp', '/run'];

/**
 * All that an agent's actions can call: its tools, relics and prompts. Nothing in it belongs to a session, so one table
 * serves all sessions of an agent. Rejects where the manifest asks for what cannot be had.
 */
export async function createTargets(options: TargetsOptions): Promise<AgentTargets> {
  const { agent, project, env, served = [] } = options;
  const cwd = resolve(options.cwd ?? '.');
  const folder = resolve(options.folder);
  const state = hiddenState(options.env, folder);
  const commands = {
    readsLines: platform() !== 'win32',
    ignoresCase: platform() === 'win32' || platform() === 'darwin',
    path: env.PATH,
  };
  const permissions = createPermissions(agent.permissions, folder, commands, {
    own: [...storeFiles(options.store.location, [cwd, folder, project.root, ...served]), ...state],
    closed: new ClosedLocations({ project, folder, cwd, served, env, clock: options.clock }),
  });
  const closers: (() => Promise<void>)[] = [];
  const resolveHost = options.resolveHost ?? systemResolver;
  const ownAddresses = createOwnAddresses(env);
  const own: Omit<TargetDeps, 'servers'> = {
    folder,
    agentName: agent.name,
    clock: options.clock,
    env,
    permissions,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    resolveHost,
    own: ownAddresses,
    confinement: createConfinement({
      permissions,
      folder,
      find: options.findSandbox ?? createSandboxFinder(env),
      homes: [env.HOME ?? homedir(), homedir(), ...HOMES],
      temporary: [tmpdir(), env.TMPDIR ?? tmpdir(), ...TEMPORARY],
      state,
      resolveHost,
      own: ownAddresses,
    }),
    atClose: (close) => closers.push(close),
    sandbox: options.sandbox ?? createSandbox(options),
  };
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === agent.name);
  if (loaded === undefined) throw notInProject(agent.name, project.root);
  const servers = await openServers(agent.import.tools, options.mcp, own);
  const deps: TargetDeps = { ...own, servers };
  const parts: (Target | ListedTargets)[] = [];
  try {
    for await (const part of importedTargets(loaded, project, options.store, deps)) parts.push(part);
    parts.push(
      ...llmTargets(agent, options.openModel),
      ...(options.agents ?? []),
      ...(options.workflows ?? []),
    );
    const tables = createLiveTables(parts, servers);
    const first = tables.latest();
    // A prompt's answer takes seconds anyway, and an agent without tools then never loads the compiler.
    const endWarmUp = warmUp(first.all.filter(({ kind }) => kind !== 'llm'));
    const ask = createAskText(agent, options.openModel);
    const command = createRunCommand(own);
    const close = async () => {
      endWarmUp();
      await closeServers(servers);
      await Promise.all(closers.splice(0).map((end) => end()));
      if (options.sandbox === undefined) await deps.sandbox.close();
    };
    const made = new WeakMap<NamedTargets, AgentTargets>();
    const tableOf = (targets: NamedTargets): AgentTargets => {
      const known = made.get(targets);
      if (known !== undefined) return known;
      const table: AgentTargets = {
        all: targets.all,
        deps,
        ask,
        find: tables.finder(targets),
        command,
        latest: () => tableOf(tables.latest()),
        close,
      };
      made.set(targets, table);
      return table;
    };
    return tableOf(first);
  } catch (thrown) {
    await closeServers(servers);
    throw thrown;
  }
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
