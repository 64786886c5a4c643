import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { needs } from '../http/access.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import { badRequest } from './bad-request.ts';
import { describeOperation, type Nothing, type Operation } from './describe-operation.ts';

export interface Call<Params extends z.ZodObject, Query extends z.ZodObject, Body> {
  readonly c: Context<AppEnv>;
  readonly caller: Caller;
  readonly params: z.output<Params>;
  readonly query: z.output<Query>;
  readonly body: Body;
}

/** Gives what is answered as JSON, or a response of its own. */
export type Handle<Answer, Params extends z.ZodObject, Query extends z.ZodObject, Body> = (
  call: Call<Params, Query, Body>,
) => Promise<Answer | Response> | Answer | Response;

const EMPTY = z.object({});

/** Puts a route into the document and serves it: role, parameters and body are checked before `handle` is called. */
export function addOperation<
  Answer,
  Params extends z.ZodObject = Nothing,
  Query extends z.ZodObject = Nothing,
  Body = undefined,
>(
  app: OpenAPIHono<AppEnv>,
  operation: Operation<Answer, Params, Query, Body>,
  handle: Handle<Answer, Params, Query, Body>,
): void {
  const { method, path, role, params = EMPTY, status = 200 } = operation;
  // A filter that is misspelt would be none: all is listed, and somebody acts on it.
  const query = operation.query?.strict() ?? EMPTY;
  const name = `${method.toUpperCase()} ${path}`;
  app.openAPIRegistry.registerPath(
    describeOperation(operation as Operation<unknown, z.ZodObject, z.ZodObject, unknown>),
  );
  app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), needs(role), async (c) => {
    const answer = await handle({
      c,
      caller: c.get('caller'),
      params: parsed(params, c.req.param(), name, 'path') as z.output<Params>,
      query: parsed(query, c.req.query(), name, 'query') as z.output<Query>,
      body: (operation.body === undefined
        ? undefined
        : parsed(operation.body, await bodyOf(c, operation.bodyOptional), name, 'body')) as Body,
    });
    if (answer instanceof Response) return answer;
    return answer === undefined || operation.answer === undefined
      ? c.body(null, status)
      : answerJson(c, JSON.stringify(answer), status === 204 ? 200 : status);
  });
}

/** Answers with what is JSON already. */
export const answerJson = (c: Context<AppEnv>, json: string, status: 200 | 201 | 202 = 200): Response =>
  c.body(json, status, { 'content-type': 'application/json; charset=utf-8' });

function parsed(schema: z.ZodType, given: unknown, name: string, where: string): unknown {
  const read = schema.safeParse(given);
  if (!read.success) throw badRequest(name, where, read.error, schema);
  return read.data;
}

/** That it is JSON was checked when it came. */
async function bodyOf(c: Context<AppEnv>, optional: true | undefined): Promise<unknown> {
  const text = await c.req.text();
  return text === '' ? (optional === true ? {} : undefined) : JSON.parse(text);
}
