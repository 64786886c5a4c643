import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { cannotListen } from '../../kernel/cannot-listen.ts';
import { isLoopback, urlOf } from '../../kernel/host-name.ts';
import { registerListener } from '../../targets/access/own-addresses.ts';
import type { McpServer } from './create-mcp-server.ts';
import { bearerOf, refuseRequest } from './http-guard.ts';
import { readBody } from './read-body.ts';
import { INVALID_REQUEST, refusal } from './read-message.ts';

export interface HttpOptions {
  /** 0 for a free one. */
  readonly port: number;
  readonly host: string;
  /** Whose bearer token a client sends: every request needs one. Undefined for a token that is not valid. */
  readonly identify: (token: string) => Promise<string | undefined>;
  readonly onError: (error: unknown) => void;
}

interface Connection {
  readonly transport: StreamableHTTPServerTransport;
  readonly identity: string;
}

export interface HttpServing {
  /** `http://127.0.0.1:4810/mcp`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const PATH = '/mcp';
/** Clients at a time: beyond that the one that was quiet for longest is forgotten, and begins anew. */
const MAX_SESSIONS = 1_000;
/** Kept for every request that is being read. */
const SESSION_HEADER = 'mcp-session-id';

/** Serves clients over streamable HTTP, each with a session of its own, until it is closed. */
export async function serveHttp(server: McpServer, options: HttpOptions): Promise<HttpServing> {
  const { port, host, identify, onError } = options;
  const [{ StreamableHTTPServerTransport: SdkTransport }, { isInitializeRequest }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  /** In the order of their last use. */
  const sessions = new Map<string, Connection>();

  const begin = async (identity: string): Promise<StreamableHTTPServerTransport> => {
    const transport = new SdkTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized(id) {
        sessions.set(id, { transport, identity });
        const [oldest] = sessions.keys();
        if (sessions.size > MAX_SESSIONS && oldest !== undefined)
          void sessions.get(oldest)?.transport.close().catch(onError);
      },
    });
    transport.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    // The SDK's own type has "undefined" where the interface it implements does not allow it.
    await server.connect(transport as Parameters<McpServer['connect']>[0], identity);
    return transport;
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const token = bearerOf(request);
    const identity = token === undefined ? undefined : await identify(token);
    const rules = { isOwnOnly: isLoopback(host), isKnown: identity !== undefined, path: PATH };
    const refused = refuseRequest(request, rules);
    if (refused !== undefined || identity === undefined)
      return reply(response, refused?.status ?? 401, refused?.message ?? '', refused?.headers);
    const id = request.headers[SESSION_HEADER];
    const found = typeof id === 'string' ? sessions.get(id) : undefined;
    // A session belongs to whoever began it: its id alone lets nobody in.
    const known = found?.identity === identity ? found.transport : undefined;
    if (id !== undefined && known === undefined)
      return reply(response, 404, 'There is no such session: initialize a new one.');
    if (known !== undefined && typeof id === 'string') {
      sessions.delete(id);
      sessions.set(id, { transport: known, identity });
    }
    if (request.method !== 'POST') {
      if (known === undefined) return reply(response, 400, `${SESSION_HEADER} is missing.`);
      return known.handleRequest(request, response);
    }
    const body = await readBody(request);
    if ('refused' in body) return replyWith(response, body.status, body.refused);
    if (known === undefined && !isInitializeRequest(body.value))
      return reply(response, 400, `${SESSION_HEADER} is missing: the first message is "initialize".`);
    return (known ?? (await begin(identity))).handleRequest(request, response, body.value);
  };

  const http = createServer((request, response) => {
    handle(request, response).catch((thrown) => {
      onError(thrown);
      if (!response.headersSent) reply(response, 500, 'The server failed.');
      else response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    http.once('error', (thrown: NodeJS.ErrnoException) => reject(cannotListen(host, port, thrown)));
    http.listen(port, host, resolve);
  });
  http.on('error', onError);
  const { port: taken } = http.address() as AddressInfo;
  http.once('close', registerListener(host, taken));
  return {
    url: `${urlOf(host, taken)}${PATH}`,
    port: taken,
    async close() {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
      http.closeAllConnections();
      await closed;
    },
  };
}

const reply = (response: ServerResponse, status: number, message: string, headers: object = {}): void =>
  replyWith(response, status, refusal(INVALID_REQUEST, message), headers);

function replyWith(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  response.end(JSON.stringify(body));
}
