import { homedir, platform, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { LoadedManifest, Project } from '../manifest/project/project.ts';
import type { BUILTIN_TOOLS } from '../manifest/schema/agent-input.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import { withTimeout } from './abort.ts';
import { createOwnAddresses } from './access/addresses.ts';
import { createPermissions } from './access/permissions.ts';
import { ProtectedPaths } from './access/protected-paths.ts';
import { hiddenStateFolders, runtimePaths } from './access/runtime-paths.ts';
import type { CodeRelic, CodeTool } from './code/code-tool.ts';
import { type Resolver, systemResolver } from './http/checked-lookup.ts';
import { type AskText, createAskText, llmTargets } from './llm/llm-targets.ts';
import type { McpServers, OpenMcpServer } from './mcp/mcp-server.ts';
import { closeServers, openServers } from './mcp/open-servers.ts';
import type { ListedTargets } from './mcp/server-targets.ts';
import { childEnvironment, type ProcessEnvironment } from './process/child-environment.ts';
import type { RunCommand } from './process/command-request.ts';
import { createConfinement } from './process/confinement.ts';
import { createSandboxFinder, type FindSandbox } from './process/find-sandbox.ts';
import type { RelicStore } from './relics/relic-driver.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Target, TargetKind, TargetTable } from './target.ts';
import type { TargetDeps } from './target-deps.ts';

export interface TargetsOptions {
  readonly agent: AgentManifest;
  /** The project the agent was loaded from. Its imports are found there. */
  readonly project: Project;
  /** The agent's folder. Paths of calls and `permissions.paths` are relative to it. */
  readonly folder: string;
  readonly clock: Clock;
  readonly env: ProcessEnvironment;
  readonly store: RelicStore;
  readonly openModel: (ref: string) => Promise<Model>;
  /** The working folder of the process. Defaults to the current one. */
  readonly cwd?: string;
  /** Folders that a server watches or serves, because manifests and code there may be loaded, too. */
  readonly served?: readonly string[];
  /** The agents it may call. Only a session can run one. */
  readonly agents?: readonly Target[];
  /** The workflows its actions may call. Only a session can run one. */
  readonly workflows?: readonly Target[];
  /** The time between SIGTERM and SIGKILL of a command. */
  readonly graceMs?: number;
  /** Replaces the system's resolver. */
  readonly resolveHost?: Resolver;
  /** Finds bubblewrap. A shared finder searches only once. */
  readonly findSandbox?: FindSandbox;
  /** Starts MCP servers. Without it, an agent that imports one is refused. */
  readonly mcp?: OpenMcpServer | undefined;
  /** Where scripts run. By default, the table creates its own. */
  readonly sandbox?: Sandbox | undefined;
}

/**
 * The targets of an agent, plus what workflow steps need to run commands, scripts and model requests in the same way.
 */
export interface AgentTargets extends TargetTable {
  readonly deps: TargetDeps;
  readonly ask: AskText;
  /**
   * The present table. It differs from this one only if an MCP server has changed its list. Calls through this table
   * look there first. Throws if it cannot be built, because two targets share a name or a tool behind a Tool manifest
   * is gone.
   */
  latest(): AgentTargets;
}

const DEFAULT_GRACE_MS = 5_000;
const HOMES = ['/home', '/root'];
const TEMPORARY = ['/tmp', '/var/tmp', '/run'];

/**
 * Builds everything that an agent's actions can call: its tools, relics and prompts. Nothing in it belongs to one
 * session, so all sessions of an agent share a table. Rejects if the manifest asks for something unavailable.
 */
export async function createTargets(options: TargetsOptions): Promise<AgentTargets> {
  const { agent, project, env, served = [] } = options;
  const cwd = resolve(options.cwd ?? '.');
  const folder = resolve(options.folder);
  const state = hiddenStateFolders(options.env, folder);
  const commands = {
    readsLines: platform() !== 'win32',
    ignoresCase: platform() === 'win32' || platform() === 'darwin',
    path: env.PATH,
  };
  const permissions = createPermissions(agent.permissions, folder, commands, {
    own: [...runtimePaths(options.store.location, [cwd, folder, project.root, ...served]), ...state],
    closed: new ProtectedPaths({ project, folder, cwd, served, env, clock: options.clock }),
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
    const tables = createLiveTargets(parts, servers);
    const first = tables.latest();
    // Prompts are skipped: their answers take seconds anyway, and an agent without tools never has to load the
    // compiler.
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
 * Compiles the schemas one at a time, between other work and while the model is still thinking. The first one of a
 * process takes tens of milliseconds, which would otherwise delay the first action.
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
    hint: 'Pass the project that it was loaded from.',
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

/** The targets an agent can call. They change when a server changes its list. */
export interface LiveTargets {
  /** The present targets. Throws if two of them share a name, or one cannot be built. */
  latest(): NamedTargets;
  /** Finds a present target. Falls back to `targets`, whose server then reports that the tool is gone. */
  finder(targets: NamedTargets): (kind: TargetKind, name: string) => Target | undefined;
}

function createLiveTargets(parts: readonly (Target | ListedTargets)[], servers: McpServers): LiveTargets {
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

/** A running session keeps its targets. The next session to start gets the error. */
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
  new RuntimeError('name_taken', `Two targets are named ${kind} "${name}".`, {
    hint: 'Rename one of them. Built-in tools have fixed names, and tools of an MCP server start with the name of the server.',
  });

/**
 * Yields tools and relics in the order of the imports, then those in the agent's own file. Loads only the modules the
 * agent needs: all kinds together are a hundred modules, a tenth of the start time of a run.
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
      else yield (await import('./mcp/server-targets.ts')).rebuiltOnChange(server, () => [make()]);
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
