import type { Command } from 'commander';
import type { LoadedAgent } from '../agent/loaded-agent.ts';
import type { OpenSessionsOptions, Sessions } from '../agent/open-sessions.ts';
import type { LoadWorkflowOptions } from '../agent/runs/load-workflow.ts';
import type { LoadedWorkflow } from '../agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../agent/runtime-types.ts';
import type { OpenStoreOptions } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import type { OpenMcpServer } from '../tools/mcp/mcp-server.ts';
import type { Io } from './io.ts';

/** What `main` passes to a command. */
export interface CommandContext {
  readonly io: Io;
  readonly runtimes: RuntimePort;
  /**
   * Makes a commander action out of a function that returns the exit code: `.action(context.run(async (file: string,
   * options: Options) => EXIT.ok))`.
   */
  run<Args extends readonly unknown[]>(
    action: (...args: Args) => Promise<ExitCode>,
  ): (...args: unknown[]) => Promise<void>;
  /** For a command that runs until it is stopped: being stopped is its success. */
  endsWhenStopped(): void;
}

/**
 * Adds one command to the program. It is called on every start, so import anything heavy inside the action. If an
 * action cannot go on it throws a RuntimeError, which `main` prints in three lines (or as JSON) before it exits with 1.
 */
export type RegisterCommand = (program: Command, context: CommandContext) => void;

/** How commands load agents and open runtimes. Tests pass their own. */
export interface RuntimePort {
  /** `name` chooses one of several agents in a file. Throws `bad_manifest` or `no_agent` if there is none to run. */
  loadAgent(
    path: string,
    options: Pick<Io, 'cwd' | 'env'> & { readonly name?: string },
  ): Promise<LoadedAgent>;
  /** A workflow of the agent in a file. Throws `no_workflow` if it is not clear which one. */
  loadWorkflow(
    path: string,
    options: Pick<Io, 'cwd' | 'env'> & Pick<LoadWorkflowOptions, 'workflow' | 'agent'>,
  ): Promise<LoadedWorkflow>;
  createRuntime(options: RuntimeOptions): Promise<Runtime>;
  /** Opens a store before its runtime exists. */
  openStore(location: string, options: OpenStoreOptions): Promise<Store>;
  /** For commands that only read. */
  openSessions(options: OpenSessionsOptions): Promise<Sessions>;
}

const openMcpServer: OpenMcpServer = async (start) => {
  const { createMcpClient } = await import('../mcp/open-mcp-server.ts');
  return createMcpClient()(start);
};

/** Imported when first used, so that `telltale --version` starts quickly. */
export const sessionRuntimes: RuntimePort = {
  async loadAgent(path, options) {
    const { loadAgent } = await import('../agent/load-agent.ts');
    return loadAgent(path, options);
  },
  async loadWorkflow(path, options) {
    const { loadWorkflow } = await import('../agent/runs/load-workflow.ts');
    return loadWorkflow(path, options);
  },
  async createRuntime(options) {
    const { createRuntime } = await import('../agent/create-runtime.ts');
    return createRuntime({ mcp: openMcpServer, ...options });
  },
  async openStore(location, options) {
    const { openStore } = await import('../store/open-store.ts');
    return openStore(location, options);
  },
  async openSessions(options) {
    const { openSessions } = await import('../agent/open-sessions.ts');
    return openSessions(options);
  },
};

/** Exit codes. Scripts rely on them, so they never change meaning. */
export const EXIT = { ok: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
