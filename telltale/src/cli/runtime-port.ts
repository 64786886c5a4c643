import type { LoadedAgent, Runtime, RuntimeOptions } from '../session/runtime-types.ts';
import type { OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import type { Io } from './io.ts';

/** How commands come by agents and runtimes. Tests pass one of their own. */
export interface RuntimePort {
  /** `name` chooses one of several agents in a file. Throws `bad_manifest` or `no_agent` where there is none to run. */
  loadAgent(
    path: string,
    options: Pick<Io, 'cwd' | 'env'> & { readonly name?: string },
  ): Promise<LoadedAgent>;
  createRuntime(options: RuntimeOptions): Promise<Runtime>;
}

const openMcpServer: OpenMcpServer = async (start) => {
  const { createMcpClient } = await import('../mcp/open-mcp-server.ts');
  return createMcpClient()(start);
};

/** Imported at the first use: `telltale --version` needs none of it. */
export const sessionRuntimes: RuntimePort = {
  async loadAgent(path, options) {
    const { loadAgent } = await import('../session/load-agent.ts');
    return loadAgent(path, options);
  },
  async createRuntime(options) {
    const { createRuntime } = await import('../session/create-runtime.ts');
    return createRuntime({ mcp: openMcpServer, ...options });
  },
};
