import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createSystemClock } from '../../telltale/src/kernel/clock.ts';
import { createMcpServer } from '../../telltale/src/mcp/server/create-mcp-server.ts';
import { createRuntime } from '../../telltale/src/session/create-runtime.ts';
import { loadAgent } from '../../telltale/src/session/load-agent.ts';
import type { Answer, Caller } from './scenario.ts';

const BIN = fileURLToPath(new URL('../../telltale/bin/telltale.js', import.meta.url));

/** The server's own handler, in this process. */
export async function callHandler(folder: string): Promise<Caller> {
  const runtime = await createRuntime({ store: 'sqlite:handler.db', cwd: folder });
  const agents = [await loadAgent('agent.yml', { cwd: folder })];
  const { tools } = await createMcpServer({ runtime, agents, clock: createSystemClock() });
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const call = { client: 'bench', signal: new AbortController().signal };
  return {
    async call(tool, args) {
      const answer = await byName.get(tool)?.call(args, call);
      return (answer?.structured ?? {}) as Answer;
    },
    close: () => runtime.close(),
  };
}

/** A client of the SDK, and the built command line in a process of its own. */
export async function callOverStdio(folder: string): Promise<Caller> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [BIN, 'mcp', 'agent.yml', '--store', 'stdio.db'],
      cwd: folder,
      stderr: 'inherit',
    }),
  );
  return {
    async call(name, args) {
      const { structuredContent } = await client.callTool({ name, arguments: { ...args } });
      return (structuredContent ?? {}) as Answer;
    },
    close: () => client.close(),
  };
}
