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

/** Creates an app whose errors all have the same form, whatever threw them. */
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

/** Answers 405 if the path exists with another method, otherwise 404. Must be added before the routes. */
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

/** Validators of routes throw errors of the framework. */
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

/** How many leading parts of a path are tried as a prefix. */
const MOST_PREFIXED = 6;

/** The error for an unknown path, with the nearest known one. */
function unknownRoute(path: string, routes: readonly Route[]): RuntimeError {
  if (path === '/' || path === '/index.html') return consoleMissing();
  const asked = path.split('/');
  const patterns = routes
    .filter(({ method, path: pattern }) => method !== 'ALL' && !pattern.includes('*'))
    .map((route) => route.path);
  // Parameters match anything, so only fixed parts tell whether a route is near.
  const beside = patterns.filter((pattern) => pattern.split('/')[1] === asked[1]);
  const known = new Set((beside.length > 0 ? beside : patterns).map((pattern) => filled(pattern, asked)));
  known.delete(path);
  return routeUnknown(path, withoutPrefix(asked, patterns) ?? nearest(path, known));
}

/** Suggests `/sessions` for `/api/v1/sessions` and `/v2/sessions`, because other servers use such prefixes. */
function withoutPrefix(asked: readonly string[], patterns: readonly string[]): string | undefined {
  for (let from = 2; from < Math.min(asked.length, MOST_PREFIXED); from++) {
    const rest = ['', ...asked.slice(from)];
    const path = rest.join('/');
    if (patterns.some((pattern) => pattern.split('/')[1] === rest[1] && filled(pattern, rest) === path))
      return path;
  }
  return undefined;
}

/** Suggests `/sessions/ses_1/steer` for `/sessions/ses_1/ster`. */
function filled(pattern: string, asked: readonly string[]): string {
  const parts = pattern.split('/');
  if (parts.length !== asked.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') ? (asked[at] ?? part) : part)).join('/');
}

/** How long a result is cached, because probes come often. */
const FRESH_MS = 1_000;
/** A slower store counts as unavailable, so that a probe never waits for a database to recover. */
const PATIENCE_MS = 2_000;
const TABLE = 'server.ready';
/** A full disk may still accept a few bytes, and a reused journal needs no new ones, so more is written. */
const ROOM_BYTES = 48 * 1024;
/** Random, because compressed data would need no space. */
const ROOM = randomBytes(ROOM_BYTES).toString('base64');

export interface ReadinessDeps {
  readonly tables: Pick<Tables, 'exchange'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Why the server itself is not ready: it is starting or closing. */
  readonly reason: () => string | undefined;
}

/** Whether the server should get requests: not while it starts or closes, or cannot write its store. */
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

  /** Two transactions, because SQLite would not write what the same one deletes. */
  const write = async () => {
    await tables.exchange([], [{ table: TABLE, key: 'room', value: ROOM }]);
    await tables.exchange([], [{ table: TABLE, key: 'room', value: undefined }]);
  };

  return async () => {
    const own = reason() ?? (await storeFailure());
    return own === undefined ? { ready: true } : { ready: false, reason: own };
  };
}
