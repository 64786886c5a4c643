import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Context } from 'hono';
import type { AuditEntry } from '../client/api.ts';
import type { Clock } from '../lib/clock.ts';
import { isLoopback, urlOf } from '../lib/host-name.ts';
import { createIdSource } from '../lib/ids.ts';
import type { Audit } from './auth/audit.ts';
import type { Listeners } from './background.ts';
import { createAccess, createRateLimiter } from './http/access.ts';
import { type App, createApp, createReadiness, refuseMethods } from './http/create-app.ts';
import {
  badHostName,
  badOrigin,
  badUrl,
  type ErrorDeps,
  errorAnswer,
  needsToken,
  sendError,
  serverClosing,
} from './http/error-answer.ts';
import { createIdempotency } from './http/idempotency.ts';
import { DEFAULT_LIMITS, openHttp, SECURITY_HEADERS, type ServerLimits } from './http/open-http.ts';
import {
  type GuardRules,
  HOOKS,
  isReading,
  readBody,
  refuseHead,
  refuseUnknownHooks,
} from './http/read-body.ts';
import { openStaticFiles, type StaticFiles } from './http/static-files.ts';
import type { AppEnv, Caller, ServerDeps } from './server-edges.ts';

/** Adds routes. `c.get('caller')` is the sender. Routes that need more than `read` or `run` use `needs`. */
export type Mount = (app: App, deps: ServerDeps) => void;

export interface ServerOptions extends Omit<ServerDeps, 'closing'> {
  /** The address to listen on: `127.0.0.1`. */
  readonly host: string;
  /** 0 for a free port. */
  readonly port: number;
  /** The folder of the built console. */
  readonly web?: string;
  /** @deprecated Every request needs a token. */
  readonly requireToken?: boolean;
  /** Origins of other web pages that may use the server: `https://app.example.com`. None by default. */
  readonly origins?: readonly string[];
  /** Names by which the server may be reached, besides IP addresses and localhost. */
  readonly allowHosts?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  /** The metrics for Prometheus. */
  readonly metrics?: () => string | Promise<string>;
  /** Why the server is not ready yet: `recovering`. */
  readonly notReady?: () => string | undefined;
  readonly mounts: readonly Mount[];
  /** The active hooks. A request to any other hook is refused before its body is read. */
  readonly hooks?: Pick<Listeners, 'hooks'>;
}

export interface Server {
  /** `http://127.0.0.1:4800`. */
  readonly url: string;
  readonly port: number;
  readonly deps: ServerDeps;
  /** Stops being ready: ends streams, refuses changes, and waits for requests in progress. */
  drain(): Promise<void>;
  /** Closes every connection. Drains first, without waiting, if that has not been done. */
  close(): Promise<void>;
}

/**
 * Starts a server. A request first passes the guard (Host, Origin, path), then authentication, rate limits, its body,
 * its `Idempotency-Key`, and then the routes. Changes are audited. Every request needs a token, except for the
 * console's files, probes, hooks and `/openapi.json`. Rejects with `cannot_listen`. Rejects with `usage` if the server
 * is open to other machines but the store has no token, or if a host name or an origin is invalid.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { host, clock, tokens, onError, web, runtime } = options;
  const origins = (options.origins ?? []).map(readOrigin);
  const allowHosts = (options.allowHosts ?? []).map(readHostName);
  const limits: ServerLimits = { ...DEFAULT_LIMITS, ...options.limits };
  if (!isLoopback(host) && !(await tokens.any())) throw needsToken(host);

  const ids = createIdSource({ clock });
  const errors: ErrorDeps = { newId: () => ids.next('err'), onError };
  const closing = new AbortController();
  const deps: ServerDeps = { ...pickDeps(options), closing: closing.signal };
  const audits = createAuditRequests(options.audit, clock, onError);
  const files = web === undefined ? undefined : await openStaticFiles(web);
  const inHand = createInHand(clock);
  const rules: GuardRules = { host, origins, allowHosts, headers: limits.headers };

  const app = createApp(errors);
  if (files !== undefined) serveFiles(app, files);
  serveHealth(app, options, () => (closing.signal.aborted ? 'closing' : options.notReady?.()));
  app.use(async (c, next) => {
    await next();
    if (!isReading(c.req.method) || isRefusal(c.res.status)) audits.note(auditedOf(c));
  });
  app.use(createAccess({ tokens, clock, limits }));
  refuseMethods(app, errors);
  if (options.hooks !== undefined) app.use(refuseUnknownHooks(options.hooks));
  app.use(readBody(limits));
  app.use(createIdempotency({ tables: runtime.store.tables, clock, newId: () => ids.next(), onError }));
  if (options.metrics !== undefined) serveMetrics(app, options.metrics);
  for (const mount of options.mounts) mount(app, deps);

  const listener = getRequestListener((request, env) => app.fetch(request, env as AppEnv['Bindings']), {
    // Other code shares this process, so its globals stay as they are.
    overrideGlobalObjects: false,
    errorHandler: (thrown) => {
      const error = thrown instanceof RequestError ? badUrl('cannot be read') : thrown;
      const { status, headers, body } = errorAnswer(error, errors);
      return Response.json(body, { status, headers: { ...headers } });
    },
  });

  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    inHand.add(response);
    for (const name in SECURITY_HEADERS) response.setHeader(name, SECURITY_HEADERS[name] as string);
    if (closing.signal.aborted) response.setHeader('connection', 'close');
    const refused = refuseHead(request, rules);
    if (refused !== undefined) {
      const answer = errorAnswer(refused, errors);
      sendError(response, answer);
      if (isRefusal(answer.status)) noteRefused(request, answer.status, audits);
      return;
    }
    if (answerCors(request, response, origins)) return;
    if (closing.signal.aborted && !isReading(request.method)) {
      sendError(response, errorAnswer(serverClosing(), errors));
      return;
    }
    listener(request, response).catch(onError);
  };

  const { http, port } = await openHttp({ host, port: options.port, limits, receive, ...errors });
  let drained: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  const leave = async (withinMs: number): Promise<void> => {
    closing.abort();
    inHand.closeAfterAnswers();
    await options.streams.close().catch(onError);
    await inHand.settled(withinMs);
    await audits.settled();
  };

  return {
    url: urlOf(host, port),
    port,
    deps,
    drain() {
      drained ??= leave(limits.drainMs);
      return drained;
    },
    close() {
      closed ??= (async () => {
        const gone = new Promise<void>((resolve) => http.close(() => resolve()));
        if (drained === undefined) await leave(0);
        http.closeAllConnections();
        await drained;
        await gone;
        await audits.settled();
      })();
      return closed;
    },
  };
}

const pickDeps = (options: ServerOptions): Omit<ServerDeps, 'closing'> => {
  const { runtime, catalog, streams, tokens, audit, notifications, clock, version, dev, env, onError } =
    options;
  return {
    runtime,
    catalog,
    streams,
    tokens,
    audit,
    notifications,
    clock,
    version,
    dev,
    onError,
    ...(env === undefined ? {} : { env }),
  };
};

const isRefusal = (status: number): boolean => status === 401 || status === 403;

const auditedOf = (c: Context<AppEnv>) => ({
  method: c.req.method,
  path: c.req.path,
  status: c.res.status,
  // Missing if the request was refused early. The type says what routes can rely on.
  caller: c.get('caller') as AppEnv['Variables']['caller'] | undefined,
  address: c.env.incoming.socket.remoteAddress ?? '',
  about: c.get('about'),
});

const noteRefused = (
  { method = '', url = '', socket }: IncomingMessage,
  status: number,
  audits: AuditRequests,
): void =>
  audits.note({
    method,
    status,
    caller: undefined,
    about: undefined,
    path: url.split('?', 1)[0] ?? '',
    address: socket.remoteAddress ?? '',
  });

const HOST_NAME = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/;

/** Normalizes an origin to the form that browsers send. Throws `usage` if no browser would ever send it. */
function readOrigin(given: string): string {
  const url = URL.parse(given);
  const isOrigin =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '';
  if (!isOrigin || url.username !== '') throw badOrigin(given);
  return url.origin;
}

/** Normalizes a host name for comparison with the `Host` header. Throws `usage` if it can never match. */
function readHostName(given: string): string {
  const name = given.toLowerCase();
  if (!HOST_NAME.test(name)) throw badHostName(given);
  return name;
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const RESPONSE_HEADERS = 'location, retry-after, idempotency-replayed, www-authenticate, x-telltale-session';
const PREFLIGHT_S = '600';

/**
 * Allows pages of the listed origins to use the server. There are no cookies, so a page can do only what its token
 * allows. Returns true if the response is complete.
 */
function answerCors(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  response: ServerResponse,
  origins: readonly string[],
): boolean {
  if (origins.length === 0) return false;
  response.setHeader('vary', 'origin');
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return false;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', RESPONSE_HEADERS);
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  response.writeHead(204, {
    'access-control-allow-methods': METHODS,
    // Clients of the UI protocols send additional headers.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': PREFLIGHT_S,
  });
  response.end();
  return true;
}

type HealthDeps = Pick<ServerDeps, 'clock' | 'runtime' | 'version'>;

/** Serves the console's files without a token. */
function serveFiles(app: App, files: StaticFiles): void {
  app.use(async (c, next) => {
    if (!isReading(c.req.method) || !files.has(c.req.path)) return next();
    const { 'accept-encoding': accept = '', 'if-none-match': match } = c.env.incoming.headers;
    const { status, headers, body } = await files.answer(c.req.path, String(accept), match);
    return new Response(body, { status, headers: { ...headers } });
  });
}

/** Health checks: whether the server is alive, and whether it should get requests. */
function serveHealth(app: App, deps: HealthDeps, reason: () => string | undefined): void {
  const { clock, runtime, version } = deps;
  const startedMs = clock.monotonic();
  const ready = createReadiness({ tables: runtime.store.tables, clock, reason });
  app.get('/healthz', (c) =>
    c.json({ status: 'ok', version, uptime_ms: Math.round(clock.monotonic() - startedMs) }),
  );
  app.get('/readyz', async (c) => {
    const readiness = await ready();
    return c.json(readiness, readiness.ready ? 200 : 503);
  });
}

/** Metrics for Prometheus. */
function serveMetrics(app: App, metrics: () => string | Promise<string>): void {
  app.get('/metrics', async (c) =>
    c.body(await metrics(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
}

/** The requests in progress. */
export interface InHand {
  add(response: ServerResponse): void;
  /** Makes every connection close after its response. */
  closeAfterAnswers(): void;
  /** Resolves when none are left, or after `withinMs`. */
  settled(withinMs: number): Promise<void>;
  readonly count: number;
}

function createInHand(clock: Pick<Clock, 'after'>): InHand {
  const responses = new Set<ServerResponse>();
  let onNone = (): void => undefined;
  return {
    add(response) {
      responses.add(response);
      response.once('close', () => {
        responses.delete(response);
        if (responses.size === 0) onNone();
      });
    },
    closeAfterAnswers() {
      for (const response of responses) response.shouldKeepAlive = false;
    },
    async settled(withinMs) {
      if (responses.size === 0) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(withinMs, resolve);
        onNone = () => {
          cancel();
          resolve();
        };
      });
      onNone = () => undefined;
    },
    get count() {
      return responses.size;
    },
  };
}

export interface AuditedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Undefined if the request was refused before its sender was known. */
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly about: string | undefined;
}

/** Records requests in the audit, after their responses. */
export interface AuditRequests {
  note(request: AuditedRequest): void;
  /** Resolves when everything is written. */
  settled(): Promise<void>;
}

/** Limits how many refused requests are recorded, so that a flood cannot fill the store. */
const REFUSED = { perSecond: 0.2, burst: 50 };
const MAX_CHARS = 300;

function createAuditRequests(
  audit: Pick<Audit, 'add'>,
  clock: Pick<Clock, 'monotonic'>,
  onError: (thrown: unknown) => void,
): AuditRequests {
  const refused = createRateLimiter(REFUSED);
  const pending = new Set<Promise<void>>();
  return {
    note(request) {
      const { method, path, status, caller, address, about = secondPart(path) } = request;
      // Anyone can post to a hook, so an unsigned request counts as refused.
      const isRefused = status === 401 || status === 403 || (status >= 400 && path.startsWith(HOOKS));
      if (caller === undefined || isRefused) {
        if (refused.take('refused', clock.monotonic()) > 0) return;
      }
      const entry: Omit<AuditEntry, 'n' | 'at'> = {
        who: caller?.by ?? `unknown (${address})`,
        role: caller?.role ?? 'read',
        what: `${method} ${path}`.slice(0, MAX_CHARS),
        ...(about === undefined ? {} : { about: about.slice(0, MAX_CHARS) }),
        status,
      };
      const added = audit.add(entry).catch(onError);
      pending.add(added);
      void added.then(() => pending.delete(added));
    },
    async settled() {
      await Promise.all(pending);
    },
  };
}

/** The `ses_1` of `/sessions/ses_1/steer`: what a request is about, unless its route knows better. */
const secondPart = (path: string): string | undefined => path.split('/')[2] || undefined;
