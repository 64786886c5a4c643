import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Context } from 'hono';
import { isLoopback, urlOf } from '../kernel/host-name.ts';
import { createIdSource } from '../kernel/ids.ts';
import type { Listeners } from './hooks/listeners.ts';
import { createAccess } from './http/access.ts';
import { type AuditRequests, createAuditRequests } from './http/audit-requests.ts';
import { serveFiles, serveHealth, serveMetrics } from './http/basic-routes.ts';
import { answerCors } from './http/cors.ts';
import { type App, createApp, refuseMethods } from './http/create-app.ts';
import { type ErrorDeps, errorAnswer, sendError } from './http/error-answer.ts';
import { type GuardRules, isReading, refuseHead } from './http/guard.ts';
import { badUrl, needsToken, serverClosing } from './http/http-errors.ts';
import { createIdempotency } from './http/idempotency.ts';
import { createInHand } from './http/in-hand.ts';
import { DEFAULT_LIMITS, type ServerLimits } from './http/limits.ts';
import { openHttp } from './http/open-http.ts';
import { readBody, refuseUnknownHooks } from './http/read-body.ts';
import { readHostName, readOrigin } from './http/read-names.ts';
import { SECURITY_HEADERS } from './http/security-headers.ts';
import { openStaticFiles } from './http/static-files.ts';
import type { AppEnv, ServerDeps } from './server-edges.ts';

/** Adds routes. `c.get('caller')` is who asks; what needs more than `read` or `run` says so by `needs`. */
export type Mount = (app: App, deps: ServerDeps) => void;

export interface ServerOptions extends Omit<ServerDeps, 'closing'> {
  /** What to listen on: `127.0.0.1`. */
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  /** The folder of the built console. */
  readonly web?: string;
  /** @deprecated Every request needs a token. */
  readonly requireToken?: boolean;
  /** Pages of other origins that may use the server: `https://app.example.com`. None by default. */
  readonly origins?: readonly string[];
  /** Names that the server is reached by, besides addresses in numbers and loopback's own. */
  readonly allowHosts?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  /** What Prometheus reads. */
  readonly metrics?: () => string | Promise<string>;
  /** Why the server is not ready yet: `recovering`. */
  readonly notReady?: () => string | undefined;
  readonly mounts: readonly Mount[];
  /** The hooks that are listened to: posts to others are refused before their bodies are read. */
  readonly hooks?: Pick<Listeners, 'hooks'>;
}

export interface Server {
  /** `http://127.0.0.1:4800`. */
  readonly url: string;
  readonly port: number;
  readonly deps: ServerDeps;
  /** Not ready any more: ends streams, refuses what changes anything, and waits for what is being answered. */
  drain(): Promise<void>;
  /** Closes every connection. Drains first, without waiting, where that was not done. */
  close(): Promise<void>;
}

/**
 * Serves. A request goes through the guard (Host, Origin, path), then who sent it, how often, its body, its
 * `Idempotency-Key`, then the routes; what changes something is audited. Every request needs a token, but for the console's
 * files, probes, hooks and `/openapi.json`. Rejects with `cannot_listen`, and with `usage` where other machines are
 * served and the store has no token for them, or a name or an origin is none.
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
    // The process is not ours alone.
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
  // Unknown to a request that was refused before: the type says what routes may count on.
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
