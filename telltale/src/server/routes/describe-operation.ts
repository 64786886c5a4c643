import { type RouteConfig, z } from '@hono/zod-openapi';
import type { Role } from '../../client/api.ts';
import { ERROR_ANSWERS } from './schemas/error.ts';

/** Of a request without any. */
export type Nothing = z.ZodObject<Record<never, never>>;

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

/** As the document has it. */
export function describeOperation({
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
    method,
    path,
    operationId: id,
    tags: [tag],
    summary,
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
      ...ERROR_ANSWERS,
    },
  };
}
