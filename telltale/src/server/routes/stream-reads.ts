import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { eventUnknown } from '../../agent/log/read-log.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { createLineJson } from '../../log/line-json.ts';
import type { RunState } from '../../log/run-state.ts';
import type { SessionState } from '../../log/state.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation, answerJson } from './operation.ts';
import { byId, eventQuery, jsonObject, MAX_EVENTS, wholeNumber } from './schemas/wire.ts';

/** What differs between reading sessions and reading runs. */
export interface StreamReads<Summary> {
  readonly kind: StreamInfo['kind'];
  /** The name in the document: `A workflow run`. */
  readonly title: string;
  readonly summary: z.ZodType<Summary>;
  readonly summaryOf: (info: StreamInfo) => Promise<Summary>;
  readonly stateOf: (id: string, seq: number | undefined) => Promise<SessionState | RunState>;
  readonly eventPage: z.ZodType;
  /** Descriptions of the events, for the document: of a page, and of the stream. */
  readonly events: string;
  readonly stream: string;
}

const atSeq = z.object({
  seq: wholeNumber(Number.MAX_SAFE_INTEGER, 'After this event. The present state by default.').optional(),
});

/** Routes for one session or run: its summary, its state and its events. */
export function mountStreamReads<Summary>(
  app: OpenAPIHono<AppEnv>,
  edges: ServerDeps,
  { kind, title, summary, summaryOf, stateOf, eventPage, events, stream }: StreamReads<Summary>,
): void {
  const { store } = edges.runtime;
  const path = `/${kind}s/{id}`;
  const of = { method: 'get', tag: `${kind}s`, role: 'read', params: byId } as const;
  addOperation(app, { ...of, path, id: kind, summary: title, answer: summary }, async ({ params: { id } }) =>
    summaryOf(await findStream(store, kind, id)),
  );

  addOperation(
    app,
    {
      ...of,
      path: `${path}/state`,
      id: `${kind}State`,
      query: atSeq,
      answer: jsonObject,
      summary: `The folded state of a ${kind}, now or after an event`,
    },
    async ({ c, params: { id }, query: { seq } }) => {
      const { head } = await findStream(store, kind, id);
      if (seq !== undefined && (seq < 1 || seq > head)) throw eventUnknown(id, seq, head);
      return answerJson(c, stateJson(await stateOf(id, seq)));
    },
  );

  addOperation(
    app,
    {
      ...of,
      path: `${path}/events`,
      id: `${kind}Events`,
      query: eventQuery,
      answer: eventPage,
      summary: `The events of a ${kind}, or its event stream`,
      description: events,
      stream,
    },
    async ({ c, params: { id }, query }) => serveEvents(edges, c, await findStream(store, kind, id), query),
  );
}

/** A folded state as JSON: maps become objects, sets become lists. The key that seals a session's tags is removed. */
function stateJson(state: SessionState | RunState): string {
  const { seal: _, ...shown } = state as Partial<SessionState>;
  return JSON.stringify(shown, (_key, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value,
  );
}

const DEFAULT_EVENTS = 1_000;

export interface EventsQuery {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
  readonly live?: '0' | '1' | undefined;
}

/** Sends a page of events as JSON, or all of them as they happen, if `text/event-stream` is requested. */
async function serveEvents(
  { runtime: { store }, streams, onError }: ServerDeps,
  c: Context<AppEnv>,
  info: StreamInfo,
  { after, limit = DEFAULT_EVENTS, live = '1' }: EventsQuery,
): Promise<Response> {
  c.header('vary', 'accept');
  if (wantsStream(c)) {
    const { stream, kind } = info;
    const from = lastEventId(c) ?? after ?? 0;
    const of = { kind, stream, after: from, live: live === '1' };
    return handOver(c, onError, (request, response) => streams.serve(request, response, of));
  }
  const from = (after ?? 0) + 1;
  const lines = await store.read(info.stream, { from, limit: Math.min(limit, MAX_EVENTS) });
  const last = from + lines.length - 1;
  const next = lines.length > 0 && last < info.head ? `,"next":"${last}"` : '';
  const items = lines.map(createLineJson(info.kind, info.stream)).join(',');
  return answerJson(c, `{"items":[${items}]${next}}`);
}

/** Whether the client accepts event streams, and does not prefer JSON. */
function wantsStream(c: Context<AppEnv>): boolean {
  const accept = c.req.header('accept') ?? '';
  const stream = weightOf(accept, 'text/event-stream');
  return stream > 0 && stream >= weightOf(accept, 'application/json');
}

function weightOf(accept: string, type: string): number {
  for (const part of accept.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    if (name !== type) continue;
    const q = parameters.find((each) => each.startsWith('q='));
    return q === undefined ? 1 : Number(q.slice(2)) || 0;
  }
  return 0;
}

/** The id that a reconnecting client has. Only numbers are ids of ours. */
function lastEventId(c: Context<AppEnv>): number | undefined {
  const id = c.req.header('last-event-id');
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

type Bare = AppEnv['Bindings'];

/** Lets `serve` use the raw response until it is finished. */
export async function handOver(
  c: Context<AppEnv>,
  onError: ServerDeps['onError'],
  serve: (request: Bare['incoming'], response: Bare['outgoing']) => Promise<void>,
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  if (incoming.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
  try {
    await serve(incoming, outgoing);
  } catch (thrown) {
    // Once something was sent, no error response is possible. The client sees the end and reconnects.
    if (!outgoing.headersSent) throw thrown;
    onError(thrown);
    outgoing.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

/** The session or run of that id. Throws `session_unknown` or `run_unknown`. */
export async function findStream(store: Store, kind: StreamInfo['kind'], id: string): Promise<StreamInfo> {
  const info = await store.info(id);
  if (info?.kind === kind) return info;
  throw unknown(kind, id, store.location, info?.kind);
}

const unknown = (
  kind: StreamInfo['kind'],
  id: string,
  location: string,
  other: StreamInfo['kind'] | undefined,
) =>
  new RuntimeError(
    kind === 'session' ? 'session_unknown' : 'run_unknown',
    other === undefined
      ? `No ${WORDS[kind]} "${id.slice(0, 200)}" is in ${location}.`
      : `${id} is not a ${WORDS[kind]} but a ${WORDS[other]}.`,
    { hint: other === undefined ? `List them: GET /${kind}s` : `See GET /${other}s/${id}` },
  );

const WORDS = { session: 'session', run: 'workflow run' } as const;
