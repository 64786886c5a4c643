import { homedir, platform, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { LoadedManifest, Project } from '../manifest/project/project.ts';
import type { BUILTIN_TOOLS } from '../manifest/schema/agent-input.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import { createOwnAddresses } from './access/addresses.ts';
import { ClosedLocations } from './access/closed-locations.ts';
import { createPermissions } from './access/permissions.ts';
import { hiddenState, storeFiles } from './access/store-files.ts';
import type { CodeRelic, CodeTool } from './code/code-tool.ts';
import { type Resolver, systemResolver } from './http/checked-lookup.ts';
import { type AskText, createAskText, llmTargets } from './llm/llm-targets.ts';
import type { McpServers, OpenMcpServer } from './mcp/mcp-server.ts';
import { closeServers, openServers } from './mcp/open-servers.ts';
import type { ListedTargets } from './mcp/server-targets.ts';
import { type ChildEnvironmentEnv, childEnvironment } from './process/child-environment.ts';
import type { RunCommand } from './process/command-request.ts';
import { createConfinement } from './process/confinement.ts';
import { createSandboxFinder, type FindSandbox } from './process/find-sandbox.ts';
import type { RelicStore } from './relics/relic-driver.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { withTimeout } from './stop-and-wait.ts';
import type { Target, TargetKind, TargetTable } from './target.ts';
import type { TargetDeps } from './target-edges.ts';

export interface TargetsOptions {
  readonly agent: AgentManifest;
  /** What the agent was loaded with: its imports are found there. */
  readonly project: Project;
  /** The agent's folder: paths of calls and `permissions.paths` are relative to it. */
  readonly folder: string;
  readonly clock: Clock;
  readonly env: ChildEnvironmentEnv;
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

function createRunCommand(deps: Omit<TargetDeps, 'servers'>): RunCommand {
  return async ({ what, command, cwd = '.', env, stdin, maxBytes, timeoutMs, signal }, call = {}) => {
    const { runConfined } = await import('./process/run-confined.ts');
    const [program = '', ...args] = command;
    const request = {
      what,
      program,
      args,
      stdin,
      maxBytes,
      cwd: resolve(deps.folder, cwd),
      env: childEnvironment(deps.env, deps.permissions.environment, env),
    };
    return withTimeout(signal, timeoutMs / 1000, what, deps.clock, (within) =>
      runConfined({ ...request, signal: within }, call, deps),
    );
  };
}

/** Targets by kind and name. */
export interface NamedTargets {
  readonly all: readonly Target[];
  get(key: string): Target | undefined;
}

/** What an agent can call, which changes where a server lists something else. */
export interface LiveTables {
  /** The targets of this moment. Throws where two of them have one name, or one cannot be made. */
  latest(): NamedTargets;
  /** Finds what can be called now; else what `targets` had, whose server says that it is gone. */
  finder(targets: NamedTargets): (kind: TargetKind, name: string) => Target | undefined;
}

function createLiveTables(parts: readonly (Target | ListedTargets)[], servers: McpServers): LiveTables {
  let current = namedTargets(parts);
  let isStale = false;
  for (const server of servers.values())
    server.onChange?.(() => {
      isStale = true;
    });
  const latest = (): NamedTargets => {
    if (isStale) {
      current = namedTargets(parts);
      isStale = false;
    }
    return current;
  };
  return {
    latest,
    finder(targets) {
      if (servers.size === 0) return (kind, name) => targets.get(keyOf(kind, name));
      return (kind, name) => {
        const key = keyOf(kind, name);
        return latestOr(targets, latest).get(key) ?? targets.get(key);
      };
    },
  };
}

/** A session that runs goes on with what it has; the next one that begins hears what is wrong. */
function latestOr(targets: NamedTargets, latest: () => NamedTargets): NamedTargets {
  try {
    return latest();
  } catch {
    return targets;
  }
}

function namedTargets(parts: readonly (Target | ListedTargets)[]): NamedTargets {
  const table = new Map<string, Target>();
  for (const part of parts)
    for (const target of 'targets' in part ? part.targets() : [part]) {
      const key = keyOf(target.kind, target.name);
      if (table.has(key)) throw nameTaken(target);
      table.set(key, target);
    }
  return { all: Object.freeze([...table.values()]), get: (key) => table.get(key) };
}

const keyOf = (kind: TargetKind, name: string): string => `${kind} ${name}`;

const nameTaken = ({ kind, name }: Target) =>
  new RuntimeError('name_taken', `Two things that actions can call are named ${kind} "${name}".`, {
    hint: 'Give one of them another name; a built-in tool has its own, and those of an MCP server begin with its name.',
  });

/**
 * Tools and relics in the order of the imports; then what stands beside the agent in its own file. Loads what the agent
 * has, and nothing else: all kinds together are a hundred modules, a tenth of what the start of a run takes.
 */
async function* importedTargets(
  agent: LoadedManifest,
  project: Project,
  store: RelicStore,
  deps: TargetDeps,
): AsyncGenerator<Target | ListedTargets> {
  const seen = new Set<string>();
  const byId = new Map(project.manifests.map((manifest) => [manifest.id, manifest]));
  for (const entry of agent.imports) {
    if (entry.type === 'mcp') {
      const server = deps.servers.get(entry.name);
      if (server === undefined) continue;
      const { serverTargets } = await import('./mcp/server-targets.ts');
      yield serverTargets(server, agent, project);
      continue;
    }
    if (entry.type === 'builtin') {
      if (seen.has(entry.name)) continue;
      seen.add(entry.name);
      const make = await BUILTINS[entry.name as keyof typeof BUILTINS]();
      yield make(deps);
      continue;
    }
    for (const id of entry.manifests) yield* targetOf(byId.get(id), seen, store, deps);
  }
  for (const beside of project.manifests)
    if (beside.file === agent.file) yield* targetOf(beside, seen, store, deps);
}

async function* targetOf(
  loaded: LoadedManifest | undefined,
  seen: Set<string>,
  store: RelicStore,
  deps: TargetDeps,
): AsyncGenerator<Target | ListedTargets> {
  if (loaded === undefined || seen.has(loaded.id)) return;
  seen.add(loaded.id);
  const { manifest, file, code } = loaded;
  switch (manifest.kind) {
    case 'Tool': {
      const { toolTarget } = await import('./tools/tool-target.ts');
      const make = () => toolTarget(manifest, file, deps, code as CodeTool | undefined);
      const { implementation } = manifest;
      const server = 'mcp' in implementation ? deps.servers.get(implementation.mcp.server) : undefined;
      if (server === undefined) yield make();
      else yield (await import('./mcp/server-targets.ts')).whileListed(server, () => [make()]);
      return;
    }
    case 'Relic':
      yield code === undefined
        ? (await import('./relics/relic-target.ts')).relicTarget(manifest, file, store, deps)
        : (await import('./code/code-tool.ts')).codeRelic(manifest, code as CodeRelic);
      return;
    case 'Agent':
    case 'Workflow':
    case 'Artifact':
      return;
  }
}

type MakeTarget = (deps: TargetDeps) => Target;

const BUILTINS: Readonly<Record<(typeof BUILTIN_TOOLS)[number], () => Promise<MakeTarget>>> = {
  filesystem: async () => (await import('./builtin/filesystem/filesystem.ts')).filesystem,
  shell: async () => (await import('./builtin/shell.ts')).shell,
  git: async () => (await import('./builtin/git/git.ts')).git,
  http_fetch: async () => (await import('./builtin/http-fetch.ts')).httpFetch,
  calculator: async () => (await import('./builtin/calculator/calculator.ts')).calculator,
  system_monitor: async () => (await import('./builtin/system-monitor.ts')).systemMonitor,
  clock: async () => (await import('./builtin/clock.ts')).clock,
};
