import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Page, Role } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import { needs } from '../http/access.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import { ERROR_ANSWERS, wholeNumber } from './schemas/wire.ts';

export interface OperationCall<Params extends z.ZodObject, Query extends z.ZodObject, Body> {
  readonly c: Context<AppEnv>;
  readonly caller: Caller;
  readonly params: z.output<Params>;
  readonly query: z.output<Query>;
  readonly body: Body;
}

/** Returns the answer, which is sent as JSON, or a response of its own. */
export type Handle<Answer, Params extends z.ZodObject, Query extends z.ZodObject, Body> = (
  call: OperationCall<Params, Query, Body>,
) => Promise<Answer | Response> | Answer | Response;

const EMPTY = z.object({});

/**
 * Adds a route to the OpenAPI document and serves it. Role, parameters and body are checked before `handle` is called.
 */
export function addOperation<
  Answer,
  Params extends z.ZodObject = Nothing,
  Query extends z.ZodObject = Nothing,
  Body = undefined,
>(
  app: OpenAPIHono<AppEnv>,
  operation: RouteOperation<Answer, Params, Query, Body>,
  handle: Handle<Answer, Params, Query, Body>,
): void {
  const { method, path, role, params = EMPTY, status = 200 } = operation;
  // An unknown query parameter is an error, because a misspelled filter would list everything.
  const query = operation.query?.strict() ?? EMPTY;
  const name = `${method.toUpperCase()} ${path}`;
  app.openAPIRegistry.registerPath(
    describeOperation(operation as RouteOperation<unknown, z.ZodObject, z.ZodObject, unknown>),
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

/** Responds with text that is JSON already. */
export const answerJson = (c: Context<AppEnv>, json: string, status: 200 | 201 | 202 = 200): Response =>
  c.body(json, status, { 'content-type': 'application/json; charset=utf-8' });

function parsed(schema: z.ZodType, given: unknown, name: string, where: string): unknown {
  const read = schema.safeParse(given);
  if (!read.success) throw badRequest(name, where, read.error, schema);
  return read.data;
}

/** The body was checked to be JSON when it was received. */
async function bodyOf(c: Context<AppEnv>, optional: true | undefined): Promise<unknown> {
  const text = await c.req.text();
  return text === '' ? (optional === true ? {} : undefined) : JSON.parse(text);
}

/** The schema of parameters or a query that are empty. */
export type Nothing = z.ZodObject<Record<never, never>>;

/** A route, as it is documented and as requests are checked. */
export interface RouteOperation<
  Answer,
  Params extends z.ZodObject = Nothing,
  Query extends z.ZodObject = Nothing,
  Body = undefined,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** The path, such as `/sessions/{id}`. */
  readonly path: string;
  /** The corresponding method of `TelltaleClient`. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly role: Role;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: z.ZodType<Body>;
  /** Whether the body may be omitted, which means `{}`. */
  readonly bodyOptional?: true;
  /** 200 by default. Without `answer`, the response has no body. */
  readonly status?: 200 | 201 | 202 | 204;
  /** When the status is 202 instead, with the same answer. */
  readonly laterWhen?: string;
  readonly answer?: z.ZodType<Answer>;
  /** What the same path sends with `accept: text/event-stream`. */
  readonly stream?: string;
}

const idempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .max(255)
    .optional()
    .openapi({ description: 'For a day, the same key returns the same answer, and nothing is done twice.' }),
});

const lastEventId = z.object({
  'last-event-id': z
    .string()
    .optional()
    .openapi({ description: 'Of a stream: the last `id` that came. It counts before `after`.' }),
});

/** The route's description in the OpenAPI document. */
function describeOperation({
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
}: RouteOperation<unknown, z.ZodObject, z.ZodObject, unknown>): RouteConfig {
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
        description: status === 202 ? 'Accepted.' : 'Done.',
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

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_CURSOR = 500;

/** The parameters of every list: `?cursor=…&limit=…`. */
export const pageQuery = {
  cursor: z
    .string()
    .max(MAX_CURSOR)
    .optional()
    .openapi({ description: '`next` of the page before; absent for the first.' }),
  limit: wholeNumber(MAX_LIMIT, `Items at the most; ${DEFAULT_LIMIT} by default.`, 1).optional(),
};

export interface AskedPage {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * Reads one page of a list, plus one item, to know whether there are more. The cursor is a position in the list, not a
 * number of items, so new items in front do not shift pages.
 */
export async function pageOf<Item, Place extends readonly (string | number)[]>(
  { cursor, limit = DEFAULT_LIMIT }: AskedPage,
  place: z.ZodType<Place>,
  read: (behind: Place | undefined, limit: number) => Promise<readonly Item[]>,
  placeOf: (item: Item) => Place,
): Promise<Page<Item>> {
  const found = await read(cursor === undefined ? undefined : decodeCursor(cursor, place), limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, next: encodeCursor(placeOf(last)) }
    : { items };
}

const encodeCursor = (place: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

function decodeCursor<Place>(cursor: string, place: z.ZodType<Place>): Place {
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw badCursor(cursor);
  }
  const read = place.safeParse(decoded);
  if (!read.success) throw badCursor(cursor);
  return read.data;
}

export const textPlace = z.tuple([z.string()]);
export const numberPlace = z.tuple([z.int()]);

/** The most mistakes reported at once. */
const MAX_SHOWN = 3;

/** `where` is the path, the query or the body of the operation, and `schema` is what it should match. */
const badRequest = (operation: string, where: string, { issues }: z.ZodError, schema: z.ZodType) => {
  const shown = issues.slice(0, MAX_SHOWN).map(mistake);
  const more = issues.length > MAX_SHOWN ? [`and ${issues.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'bad_request',
    `The ${where} of ${operation} is not valid: ${[...shown, ...more].join('; ')}.`,
    { hint: `${allowedInstead(issues, schema)}GET /openapi.json describes ${operation}.` },
  );
};

/** For an unknown top-level key: the nearest known one, or all of them. */
function allowedInstead(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): string {
  const strange = issues.find((issue) => issue.code === 'unrecognized_keys' && issue.path.length === 0);
  if (strange?.code !== 'unrecognized_keys' || !(schema instanceof z.ZodObject)) return '';
  return `${suggest(strange.keys[0] ?? '', Object.keys(schema.shape))} `;
}

const mistake = ({ path, message, code }: z.core.$ZodIssue): string => {
  if (code === 'invalid_type' && message.endsWith('received undefined'))
    return path.length === 0 ? 'there is none' : `"${path.join('.')}" is missing`;
  const said = `${message.slice(0, 1).toLowerCase()}${message.slice(1)}`.replace(/\.$/, '');
  return path.length === 0 ? said : `"${path.join('.')}": ${said}`;
};

const badCursor = (cursor: string) =>
  new RuntimeError('bad_cursor', `"${cursor.slice(0, 80)}" is not a cursor of this list.`, {
    hint: 'Send the "next" value of the previous page unchanged, or omit it for the first page.',
  });
