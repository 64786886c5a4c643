import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { cannotListen } from '../../lib/errors.ts';
import { hostNameOf, isLoopback, urlOf } from '../../lib/host-name.ts';
import { registerListener } from '../../tools/access/addresses.ts';
import type { McpServerMcpServer } from './create-mcp-server.ts';

export interface HttpOptions {
  /** 0 for a free port. */
  readonly port: number;
  readonly host: string;
  /** Returns the owner of a bearer token, which every request needs. Undefined for an invalid token. */
  readonly identify: (token: string) => Promise<string | undefined>;
  readonly onError: (error: unknown) => void;
}

interface ServeHttpConnection {
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
/** The most sessions at a time. Beyond that, the least recently used one is closed, and its client starts a new one. */
const MAX_SESSIONS = 1_000;
/** A header of every request in a session. */
const SESSION_HEADER = 'mcp-session-id';

/** Serves clients over streamable HTTP, each in its own session, until it is closed. */
export async function serveHttp(server: McpServerMcpServer, options: HttpOptions): Promise<HttpServing> {
  const { port, host, identify, onError } = options;
  const [{ StreamableHTTPServerTransport: SdkTransport }, { isInitializeRequest }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  /** In the order of their last use. */
  const sessions = new Map<string, ServeHttpConnection>();

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
    // The SDK's type allows "undefined" where the interface it implements does not.
    await server.connect(transport as Parameters<McpServerMcpServer['connect']>[0], identity);
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
    // A session belongs to whoever started it. Its id alone gives no access.
    const known = found?.identity === identity ? found.transport : undefined;
    if (id !== undefined && known === undefined)
      return reply(response, 404, 'There is no such session. Initialize a new one.');
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
      return reply(response, 400, `${SESSION_HEADER} is missing. The first message must be "initialize".`);
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

/** The largest body of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Reads a request's body as JSON, or returns the refusal to answer with. */
export async function readBody(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | { readonly refused: MessageRefusal; readonly status: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The request stays open, so that one that is too long gets an answer, too.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      return {
        refused: refusal(INVALID_REQUEST, `A request has more than ${MAX_BODY_BYTES} bytes.`),
        status: 413,
      };
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch (thrown) {
    return {
      refused: refusal(PARSE_ERROR, `This is not JSON: ${(thrown as SyntaxError).message}`),
      status: 400,
    };
  }
}

export interface GuardOptions {
  /** Whether the server only listens on this machine. */
  readonly isOwnOnly: boolean;
  /** Whether the request's token is valid. */
  readonly isKnown: boolean;
  readonly path: string;
}

export interface RequestRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: object;
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'POST', 'DELETE']);

/**
 * Explains why a request is refused. A web page can make a browser send requests to this machine, through a name that
 * points here (DNS rebinding). So the names in Host and Origin must be this machine's own.
 */
export function refuseRequest(
  { headers, method, url = '/' }: Pick<IncomingMessage, 'headers' | 'method' | 'url'>,
  { isOwnOnly, isKnown, path }: GuardOptions,
): RequestRefusal | undefined {
  const { host = '', origin } = headers;
  if (isOwnOnly && !isLoopback(hostNameOf(`http://${host}`)))
    return { status: 403, message: 'Host is not this machine.' };
  if (origin !== undefined && !isOwnSite(hostNameOf(origin), hostNameOf(`http://${host}`)))
    return { status: 403, message: 'Origin is another site.' };
  if (!isKnown) return NO_TOKEN;
  if (url.split('?')[0] !== path) return { status: 404, message: `MCP is served at ${path}.` };
  if (!METHODS.has(method))
    return {
      status: 405,
      message: 'Use GET, POST or DELETE.',
      headers: { allow: 'GET, POST, DELETE' },
    };
  return undefined;
}

/** An origin without a name, such as `null`, is never our own. */
const isOwnSite = (site: string, own: string): boolean => isLoopback(site) || (site !== '' && site === own);

/** The bearer token of a request. Undefined if there is none. */
export const bearerOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];

/** The refusal of a request without a valid token. */
const NO_TOKEN: RequestRefusal = {
  status: 401,
  message: 'A bearer token is needed.',
  headers: { 'www-authenticate': 'Bearer' },
};

type ServeHttpTypes = typeof import('@modelcontextprotocol/sdk/types.js');

/** The answer to an invalid message. */
export interface MessageRefusal {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;

export const refusal = (
  code: number,
  message: string,
  id: string | number | null = null,
): MessageRefusal => ({ jsonrpc: '2.0', id, error: { code, message } });

/** Parses a message from a line, or returns the refusal to answer with. */
export function readMessage(
  line: string,
  { JSONRPCMessageSchema }: Pick<ServeHttpTypes, 'JSONRPCMessageSchema'>,
): { readonly message: JSONRPCMessage } | { readonly refused: MessageRefusal } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (thrown) {
    return { refused: refusal(PARSE_ERROR, `This is not JSON: ${(thrown as SyntaxError).message}`) };
  }
  const parsed = JSONRPCMessageSchema.safeParse(value);
  if (parsed.success) return { message: parsed.data };
  return { refused: refusal(INVALID_REQUEST, 'This is not a JSON-RPC 2.0 message.', idOf(value)) };
}

function idOf(value: unknown): string | number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
