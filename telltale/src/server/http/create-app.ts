import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed as checkMethod } from 'hono/method-not-allowed';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { AppEnv } from '../server-edges.ts';
import { type ErrorDeps, errorAnswer, withHeaders } from './error-answer.ts';
import { badRequest, methodNotAllowed } from './http-errors.ts';
import { unknownRoute } from './unknown-route.ts';

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

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function unfit(target: string, issues: readonly Issue[]) {
  const found = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`))
    .join('; ');
  return badRequest(`The request's ${target} does not fit: ${found}.`);
}
