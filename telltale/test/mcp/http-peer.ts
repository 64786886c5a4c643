import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { McpServer as SdkServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { ConnectOptions } from '../../src/mcp/open-mcp-server.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { createPermittedHosts } from '../../src/tools/access/permitted-hosts.ts';
import { systemResolver } from '../../src/tools/http/checked-lookup.ts';
import { createHttpSender } from '../../src/tools/http/http-sender.ts';
import type { McpServer } from '../../src/tools/mcp/mcp-server.ts';
import { httpServer, type SeenRequest } from '../tools/http-server.ts';

export interface HttpPeer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Ids of the sessions that are open. */
  sessions(): readonly string[];
  /** Forgets all sessions, as a server that was started again. */
  forget(): void;
  /** Calls of the tool `wait` whose client has cancelled them. */
  readonly cancelled: string[];
}

/** A server of the published SDK on loopback, with a session for each client. */
export async function httpPeer(options: { readonly json?: boolean } = {}): Promise<HttpPeer> {
  const open = new Map<string, StreamableHTTPServerTransport>();
  const cancelled: string[] = [];
  const handle = async (request: SeenRequest, response: ServerResponse) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? open.get(id) : undefined;
    if (typeof id === 'string' && known === undefined) {
      response.writeHead(404).end('no such session');
      return;
    }
    const transport = known ?? (await newSession());
    await transport.handleRequest(
      response.req,
      response,
      request.body === '' ? undefined : JSON.parse(request.body),
    );
  };
  const newSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: options.json === true,
      onsessioninitialized: (id) => void open.set(id, transport),
      onsessionclosed: (id) => void open.delete(id),
    });
    await sdkServer(cancelled).connect(transport as never);
    return transport;
  };
  const { port, seen } = await httpServer((request, response) => void handle(request, response));
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    sessions: () => [...open.keys()],
    forget: () => open.clear(),
    cancelled,
  };
}

/** Tools that grow and shrink, resources and prompts. */
function sdkServer(cancelled: string[]): SdkServer {
  const server = new SdkServer({ name: 'peer', version: '1' }, { capabilities: { logging: {} } });
  const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text: words }) =>
    text(`Echo: ${words}`),
  );
  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= to; progress++)
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: to },
      });
    return text('counted');
  });
  server.registerTool(
    'wait',
    { inputSchema: { name: z.string() } },
    ({ name }, { signal }) => new Promise(() => signal.addEventListener('abort', () => cancelled.push(name))),
  );
  let grown: { remove(): void } | undefined;
  server.registerTool('grow', {}, () => {
    grown = server.registerTool(
      'fruit',
      { description: 'Tastes.', inputSchema: { kind: z.string() } },
      ({ kind }) => text(`A ${kind}.`),
    );
    server.registerPrompt('cook', { description: 'How to cook it.' }, () => ({ messages: [] }));
    return text('grown');
  });
  server.registerTool('shrink', {}, () => {
    grown?.remove();
    return text('shrunk');
  });
  server.registerResource('notes', 'memo://notes', { description: 'What was noted' }, ({ href }) => ({
    contents: [{ uri: href, text: 'Buy milk.' }],
  }));
  server.registerPrompt(
    'greet',
    { description: 'Greets.', argsSchema: { name: z.string() } },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }],
    }),
  );
  return server;
}

export interface HttpClientOptions extends Partial<ConnectOptions> {
  readonly headers?: Readonly<Record<string, string>>;
  readonly hosts?: readonly string[];
}

/** Our client on an address, until the test has ended. */
export async function openHttp(
  url: string,
  { headers = {}, hosts = ['127.0.0.1'], ...limits }: HttpClientOptions = {},
): Promise<McpServer> {
  const sender = createHttpSender(url, {
    hosts: createPermittedHosts({ allow: hosts, ask: [], deny: [] }),
    resolveHost: systemResolver,
  });
  const clock = createSystemClock();
  const server = await createMcpClient(limits)({
    type: 'http',
    name: 'far',
    url,
    headers,
    send: sender.send,
    clock,
  });
  onTestFinished(async () => {
    await server.close();
    sender.close();
  });
  return server;
}
