import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { loadAgent } from '../../telltale/src/agent/load-agent.ts';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { createMcpServer } from '../../telltale/src/mcp/server/create-mcp-server.ts';
import type { Answer, Caller } from './scenario.ts';

const BIN = fileURLToPath(new URL('../../telltale/bin/telltale.js', import.meta.url));

/** The server's own handler, in this process. */
export async function callHandler(folder: string): Promise<Caller> {
  const runtime = await createRuntime({ store: 'sqlite:handler.db', cwd: folder });
  const agents = [await loadAgent('agent.yml', { cwd: folder })];
  const { tools } = await createMcpServer({ runtime, agents, clock: createSystemClock() });
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const call = { client: 'bench', identity: 'user:bench', signal: new AbortController().signal };
  return {
    async call(tool, args) {
      const answer = await byName.get(tool)?.call(args, call);
      return (answer?.structured ?? {}) as Answer;
    },
    close: () => runtime.close(),
  };
}

/** A client over pipes, and the built command line in a process of its own. */
export async function callOverStdio(folder: string): Promise<Caller> {
  const server = spawn(process.execPath, [BIN, 'mcp', 'agent.yml', '--store', 'stdio.db'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, result } = JSON.parse(line) as { readonly id: number; readonly result: unknown };
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const request = (method: string, params: object) =>
    new Promise<unknown>((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const clientInfo = { name: 'bench', version: '1.0.0' };
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  return {
    async call(name, args) {
      const result = (await request('tools/call', { name, arguments: args })) as {
        readonly structuredContent?: Answer;
      };
      return result.structuredContent ?? {};
    },
    close: () =>
      new Promise((resolve) => {
        server.on('close', () => resolve());
        server.stdin.end();
      }),
  };
}
