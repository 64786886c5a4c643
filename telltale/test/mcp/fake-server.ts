import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { ConnectOptions } from '../../src/mcp/open-mcp-server.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import type { McpCall, McpProcessStart, McpServer } from '../../src/tools/mcp/mcp-server.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

/** What every fake server has; `on` are its handlers by method, which the code of a test may replace. */
const BASE = `
import { createInterface } from 'node:readline';
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const reply = (id, result) => send({ id, result });
const text = (text) => ({ content: [{ type: 'text', text }] });
const seen = [];
let tools = [{ name: 'go', inputSchema: { type: 'object' } }];
const on = {
  initialize: ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } }),
  'tools/list': ({ id }) => reply(id, { tools }),
  'tools/call': ({ id }) => reply(id, text('done')),
};
const listen = () => createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  seen.push(message);
  on[message.method]?.(message);
});
`;

/** How a server of this code is started. */
export function fakeServer(code: string, more: Partial<McpProcessStart> = {}): McpProcessStart {
  const folder = temporaryProject({ 'server.mjs': `${BASE}\n${code}\nlisten();\n` });
  return {
    type: 'stdio',
    name: 'fake',
    command: process.execPath,
    args: [join(folder, 'server.mjs')],
    env: {},
    cwd: folder,
    clock: createSystemClock(),
    graceMs: 100,
    ...more,
  };
}

/** A server that runs until the test has ended. */
export async function openFake(
  code: string,
  options: Partial<ConnectOptions> = {},
  more: Partial<McpProcessStart> = {},
): Promise<McpServer> {
  const server = await createMcpClient(options)(fakeServer(code, more));
  onTestFinished(() => server.close());
  return server;
}

export const refusal = (
  code: string,
  options?: Partial<ConnectOptions>,
  more?: Partial<McpProcessStart>,
): Promise<RuntimeError> => failureOf(createMcpClient(options)(fakeServer(code, more)));

export const callOf = (more: Partial<McpCall> = {}): McpCall => ({
  what: 'tool "fake_go"',
  tool: 'go',
  input: {},
  signal: new AbortController().signal,
  ...more,
});

export const failureOf = (work: Promise<unknown>): Promise<RuntimeError> =>
  work.then(
    (result) => {
      throw new Error(`should have failed, but gave ${JSON.stringify(result)?.slice(0, 500)}`);
    },
    (thrown: unknown) => {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    },
  );
