import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Role } from '../../client/api.ts';
import { needs } from '../http/access.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import { badRequest } from './bad-request.ts';
import { apiError } from './schemas/error.ts';

/** Of a request without any. */
type Nothing = z.ZodObject<Record<never, never>>;

/** A route, as the document describes it and as requests are held against it. */
export interface Operation<
  Answer,
  Params extends z.ZodObject = Nothing,
  Query extends z.ZodObject = Nothing,
  Body = undefined,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** `/sessions/{id}`. */
  readonly path: string;
  /** The method of `TelltaleClient` that stands for it. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly role: Role;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: z.ZodType<Body>;
  /** A body may be left out: then it is `{}`. */
  readonly bodyOptional?: true;
  /** 200 by default; without `answer` there is no body. */
  readonly status?: 200 | 201 | 202 | 204;
  /** When it is 202 instead, with the same answer. */
  readonly laterWhen?: string;
  readonly answer?: z.ZodType<Answer>;
  /** What the same path gives with `accept: text/event-stream`. */
  readonly stream?: string;
}

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
  const { method, path, role, params = EMPTY, query = EMPTY, status = 200 } = operation;
  const name = `${method.toUpperCase()} ${path}`;
  app.openAPIRegistry.registerPath(
    described(operation as Operation<unknown, z.ZodObject, z.ZodObject, unknown>),
  );
  app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), needs(role), async (c) => {
    const answer = await handle({
      ...{ c, caller: c.get('caller') },
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
  if (!read.success) throw badRequest(name, where, read.error);
  return read.data;
}

/** That it is JSON was checked when it came. */
async function bodyOf(c: Context<AppEnv>, optional: true | undefined): Promise<unknown> {
  const text = await c.req.text();
  return text === '' ? (optional === true ? {} : undefined) : JSON.parse(text);
}

const idempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .max(255)
    .optional()
    .openapi({ description: 'For a day the same key gives the same answer, and does nothing twice.' }),
});

const lastEventId = z.object({
  'last-event-id': z
    .string()
    .optional()
    .openapi({ description: 'Of a stream: the last `id` that came. It counts before `after`.' }),
});

const ERRORS = {
  '4XX': {
    description: 'What is wrong with the request.',
    content: { 'application/json': { schema: apiError } },
  },
  '5XX': {
    description: 'What is wrong with the server.',
    content: { 'application/json': { schema: apiError } },
  },
} as const;

function described({
  method,
  path,
  id,
  tag,
  summary,
  description,
  role,
  params,
  query,
  body,
  bodyOptional,
  status = 200,
  laterWhen,
  answer,
  stream,
}: Operation<unknown, z.ZodObject, z.ZodObject, unknown>): RouteConfig {
  const needs = `Needs the role \`${role}\`.`;
  return {
    ...{ method, path, operationId: id, tags: [tag], summary },
    description: description === undefined ? needs : `${description} ${needs}`,
    security: [{ bearer: [] }, {}],
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(method === 'post' ? { headers: idempotencyKey } : {}),
      ...(stream === undefined || answer === undefined ? {} : { headers: lastEventId }),
      ...(body === undefined
        ? {}
        : { body: { required: bodyOptional !== true, content: { 'application/json': { schema: body } } } }),
    },
    responses: {
      [String(status)]: {
        description: status === 202 ? 'It is on its way.' : 'Done.',
        ...(status === 201
          ? { headers: { Location: { description: 'Where it is.', schema: { type: 'string' } } } }
          : {}),
        ...(answer === undefined && stream === undefined
          ? {}
          : {
              content: {
                ...(answer === undefined ? {} : { 'application/json': { schema: answer } }),
                ...(stream === undefined
                  ? {}
                  : { 'text/event-stream': { schema: z.string().openapi({ description: stream }) } }),
              },
            }),
      },
      ...(laterWhen === undefined || answer === undefined
        ? {}
        : { 202: { description: laterWhen, content: { 'application/json': { schema: answer } } } }),
      ...ERRORS,
    },
  };
}
