import { randomBytes } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed as checkMethod } from 'hono/method-not-allowed';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Readiness } from '../../client/api.ts';
import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Tables } from '../../store/store.ts';
import type { AppEnv } from '../server-edges.ts';
import {
  badRequest,
  consoleMissing,
  type ErrorDeps,
  errorAnswer,
  methodNotAllowed,
  routeUnknown,
  withHeaders,
} from './error-answer.ts';

export type App = OpenAPIHono<AppEnv>;

/** An app whose every error has the same form, whoever threw it. */
export function createApp(deps: ErrorDeps): App {
  const app: App = new OpenAPIHono<AppEnv>({
    defaultHook(result) {
      if (!result.success) throw unfit(result.target, result.error.issues);
    },
  });
  app.onError((thrown, c) => answer(c, plainError(thrown), deps));
  app.notFound((c) => answer(c, unknownRoute(c.req.path, app.routes), deps));
  return app;
}

/** What no route answers is 405 where it would answer another method. Stands in front of the routes. */
export function refuseMethods(app: App, deps: ErrorDeps): void {
  app.use(
    checkMethod({
      app,
      onMethodNotAllowed: (c, allowed) => {
        const error = methodNotAllowed(c.req.method, c.req.path, allowed);
        return answer(c, withHeaders(error, { allow: allowed.join(', ') }), deps);
      },
    }),
  );
}

function answer(c: Context, error: unknown, deps: ErrorDeps): Response {
  const { status, headers, body } = errorAnswer(error, deps);
  return c.json(body, status as ContentfulStatusCode, { ...headers });
}

/** Validators of routes throw the framework's own. */
const plainError = (thrown: Error): unknown =>
  thrown instanceof HTTPException && thrown.status < 500 ? badRequest(thrown.message) : thrown;

const MAX_ISSUES = 3;

interface AppIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function unfit(target: string, issues: readonly AppIssue[]) {
  const found = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`))
    .join('; ');
  return badRequest(`The request's ${target} does not fit: ${found}.`);
}

interface Route {
  readonly method: string;
  readonly path: string;
}

/** Parts of a path that are looked at as a prefix, and what follows it. */
const MOST_PREFIXED = 6;

/** The error of a path that no route has, with the nearest of those that there are. */
function unknownRoute(path: string, routes: readonly Route[]): RuntimeError {
  if (path === '/' || path === '/index.html') return consoleMissing();
  const asked = path.split('/');
  const patterns = routes
    .filter(({ method, path: pattern }) => method !== 'ALL' && !pattern.includes('*'))
    .map((route) => route.path);
  // What is filled in is always like what was asked for: only the fixed parts say whether a route is near.
  const beside = patterns.filter((pattern) => pattern.split('/')[1] === asked[1]);
  const known = new Set((beside.length > 0 ? beside : patterns).map((pattern) => filled(pattern, asked)));
  known.delete(path);
  return routeUnknown(path, withoutPrefix(asked, patterns) ?? nearest(path, known));
}

/** `/api/v1/sessions` and `/v2/sessions` are `/sessions`: other servers have their routes below such a name. */
function withoutPrefix(asked: readonly string[], patterns: readonly string[]): string | undefined {
  for (let from = 2; from < Math.min(asked.length, MOST_PREFIXED); from++) {
    const rest = ['', ...asked.slice(from)];
    const path = rest.join('/');
    if (patterns.some((pattern) => pattern.split('/')[1] === rest[1] && filled(pattern, rest) === path))
      return path;
  }
  return undefined;
}

/** `/sessions/:id/steer` asked for as `/sessions/ses_1/ster` is `/sessions/ses_1/steer`. */
function filled(pattern: string, asked: readonly string[]): string {
  const parts = pattern.split('/');
  if (parts.length !== asked.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') ? (asked[at] ?? part) : part)).join('/');
}

/** How long an answer of the store counts: probes come often. */
const FRESH_MS = 1_000;
/** A store that takes longer is as good as none: whoever probes waits for no database to come back. */
const PATIENCE_MS = 2_000;
const TABLE = 'server.ready';
/** A full disk may still take a few bytes, and a journal that is used again needs no new ones. */
const ROOM_BYTES = 48 * 1024;
/** Compressed it would need no room. */
const ROOM = randomBytes(ROOM_BYTES).toString('base64');

export interface ReadinessDeps {
  readonly tables: Pick<Tables, 'exchange'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Why the server is not ready, of itself: it starts or closes. */
  readonly reason: () => string | undefined;
}

/** Whether requests that do something should come here: not while the server starts or closes, or cannot write its store. */
export function createReadiness({ tables, clock, reason }: ReadinessDeps): () => Promise<Readiness> {
  let looked: { readonly atMs: number; readonly failure: string | undefined } | undefined;

  let looking: Promise<string | undefined> | undefined;

  const storeFailure = async (): Promise<string | undefined> => {
    const atMs = clock.monotonic();
    if (looked === undefined || atMs - looked.atMs >= FRESH_MS) {
      looking ??= look().finally(() => {
        looking = undefined;
      });
      looked = { atMs, failure: await looking };
    }
    return looked.failure;
  };

  const look = (): Promise<string | undefined> =>
    new Promise((resolve) => {
      const cancel = clock.after(PATIENCE_MS, () => resolve('store_slow'));
      const answer = (failure: string | undefined) => {
        cancel();
        resolve(failure);
      };
      write().then(
        () => answer(undefined),
        (thrown: unknown) => answer(toRuntimeError(thrown).code),
      );
    });

  /** Two transactions: SQLite would never write what the same one takes out again. */
  const write = async () => {
    await tables.exchange([], [{ table: TABLE, key: 'room', value: ROOM }]);
    await tables.exchange([], [{ table: TABLE, key: 'room', value: undefined }]);
  };

  return async () => {
    const own = reason() ?? (await storeFailure());
    return own === undefined ? { ready: true } : { ready: false, reason: own };
  };
}
