import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Clock, createSystemClock } from '../../../src/lib/clock.ts';
import type { ErrorJson } from '../../../src/lib/errors.ts';
import { createAudit } from '../../../src/server/auth/audit.ts';
import { createTokens, withStartToken } from '../../../src/server/auth/tokens.ts';
import {
  createServer,
  type Mount,
  type Server,
  type ServerOptions,
} from '../../../src/server/create-server.ts';
import { needs } from '../../../src/server/http/access.ts';
import type { ServerDeps } from '../../../src/server/server-edges.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';

export interface Stage {
  readonly server: Server;
  readonly store: Store;
  readonly deps: ServerDeps;
  readonly errors: readonly unknown[];
  /** An admin's: what requests are sent with that say nothing else. */
  readonly token: string;
  /** `fetch` of a path, with the stage's token. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Whether it still does what it should. */
  isAlive(): Promise<boolean>;
}

export interface StageOptions extends Partial<Omit<ServerOptions, 'mounts'>> {
  readonly store?: Store;
  readonly mount?: Mount;
  readonly clock?: Clock;
}

/** A server on a free port of loopback, with a store in memory and a few routes of its own. */
export async function openStage({ store, mount, ...options }: StageOptions = {}): Promise<Stage> {
  const { clock = createSystemClock() } = options;
  const home = store ?? createMemoryStore({ clock });
  const errors: unknown[] = [];
  const { tokens, token } = withStartToken(createTokens(home, clock), 'user:stage');
  const server = await createServer({
    runtime: { store: home } as ServerOptions['runtime'],
    catalog: {} as ServerOptions['catalog'],
    notifications: {} as ServerOptions['notifications'],
    streams: { clients: 0, close: async () => undefined } as unknown as ServerOptions['streams'],
    tokens,
    audit: createAudit(home),
    clock,
    version: '1.2.3',
    dev: false,
    host: '127.0.0.1',
    port: 0,
    onError: (thrown) => errors.push(thrown),
    mounts: mount === undefined ? [] : [mount],
    ...options,
  });
  onTestFinished(() => server.close());
  ownTokens.set(server.port, token);
  const ask: Stage['ask'] = (path, init) => {
    const headers = new Headers(init?.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
    // No header at all is asked for with an empty one.
    if (headers.get('authorization') === '') headers.delete('authorization');
    return fetch(`${server.url}${path}`, { ...init, headers });
  };
  return {
    server,
    token,
    store: home,
    deps: server.deps,
    errors,
    ask,
    post: (path, body, headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    isAlive: async () => (await ask('/healthz')).status === 200,
  };
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Of the stages of this file, by port. */
const ownTokens = new Map<number, string>();

/**
 * A request exactly as it is given: no path is tidied, and any header may be sent. Without an `authorization` it has the
 * stage's token; with an empty one it has none.
 */
export const rawRequest = (
  { port }: Pick<Server, 'port'>,
  path: string,
  options: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  } = {},
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', body } = options;
    const { authorization = `Bearer ${ownTokens.get(port)}`, ...rest } = options.headers ?? {};
    const headers = { ...rest, ...(authorization === '' ? {} : { authorization }) };
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(parts).toString(),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });

/** A bare connection, and everything that comes over it until it is closed. */
export async function openSocket({
  port,
}: Pick<Server, 'port'>): Promise<{ readonly socket: Socket; readonly closed: Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.on('error', () => undefined); // a connection that is cut is what most of these tests want
  const closed = new Promise<string>((resolve) =>
    socket.once('close', () => resolve(Buffer.concat(parts).toString())),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  onTestFinished(() => {
    socket.destroy();
  });
  return { socket, closed };
}

/** The error in an answer. */
export async function errorOf(answer: Response | RawAnswer): Promise<ErrorJson> {
  const { text } = answer;
  const body = typeof text === 'string' ? text : await (answer as Response).text();
  return (JSON.parse(body) as { readonly error: ErrorJson }).error;
}

export const codeOf = async (answer: Response | RawAnswer): Promise<string> => (await errorOf(answer)).code;

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A promise that somebody else resolves. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}

export const things: Mount = (app) => {
  app.get('/things', (c) => c.json({ caller: c.get('caller') }));
  app.post('/things', async (c) => c.json({ body: await c.req.json() }, 201));
  app.get('/things/:id', (c) => c.json({ id: c.req.param('id') }));
  app.delete('/things/:id', needs('admin'), (c) => c.body(null, 204));
  app.post('/hooks/:name', async (c) => c.json({ caller: c.get('caller'), text: await c.req.text() }));
};
