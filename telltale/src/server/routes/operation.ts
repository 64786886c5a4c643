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

/** Gives what is answered as JSON, or a response of its own. */
export type Handle<Answer, Params extends z.ZodObject, Query extends z.ZodObject, Body> = (
  call: OperationCall<Params, Query, Body>,
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
  operation: RouteOperation<Answer, Params, Query, Body>,
  handle: Handle<Answer, Params, Query, Body>,
): void {
  const { method, path, role, params = EMPTY, status = 200 } = operation;
  // A filter that is misspelt would be none: all is listed, and somebody acts on it.
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

/** Of a request without any. */
export type Nothing = z.ZodObject<Record<never, never>>;

/** A route, as the document describes it and as requests are held against it. */
export interface RouteOperation<
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

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_CURSOR = 500;

/** Of every list: `?cursor=…&limit=…`. */
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
 * A part of a list of which one item more than asked for is read, to know whether there are more. The cursor is a place
 * in the list, not a number of items: what is put in front meanwhile moves nothing.
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

/** Mistakes that are named at once. */
const MAX_SHOWN = 3;

/** `where` is the path, the query or the body of the operation, and `schema` what it should have fitted. */
const badRequest = (operation: string, where: string, { issues }: z.ZodError, schema: z.ZodType) => {
  const shown = issues.slice(0, MAX_SHOWN).map(mistake);
  const more = issues.length > MAX_SHOWN ? [`and ${issues.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'bad_request',
    `The ${where} of ${operation} does not fit: ${[...shown, ...more].join('; ')}.`,
    { hint: `${allowedInstead(issues, schema)}See what ${operation} takes: GET /openapi.json` },
  );
};

/** Of a key at the top that nobody asked for: the one that was meant, or all there are. */
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
  new RuntimeError('bad_cursor', `"${cursor.slice(0, 80)}" is no cursor of this list.`, {
    hint: 'Give what the page before has as "next", as it is, or leave it out to begin at the beginning.',
  });
