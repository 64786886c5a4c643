import type { Runtime, RuntimeOptions } from '../session/runtime-types.ts';
import type { OpenMcpServer } from '../targets/mcp/mcp-server.ts';

/**
 * The runtime that `createRuntime` of "telltale" gives, loaded when it is first needed: whoever only wants a scripted
 * model or a clock does not wait for it.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { createRuntime } = await import('../session/create-runtime.ts');
  return createRuntime({ mcp: openMcpServer, ...options });
}

const openMcpServer: OpenMcpServer = async (start) => {
  const { createMcpClient } = await import('../mcp/open-mcp-server.ts');
  return createMcpClient()(start);
};
