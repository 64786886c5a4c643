import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { createLineJson } from '../../events/line-json.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { answerJson } from './operation.ts';
import { MAX_EVENTS } from './schemas/events.ts';

const DEFAULT_EVENTS = 1_000;

export interface EventsQuery {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
  readonly live?: '0' | '1' | undefined;
}

/** A page of events as JSON, or all of them as they come, where `text/event-stream` is asked for. */
export async function serveEvents(
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

/** Where the client names it, and likes JSON no better. */
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

/** What a client that comes back has; anything but a number is nothing that we gave. */
function lastEventId(c: Context<AppEnv>): number | undefined {
  const id = c.req.header('last-event-id');
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

type Bare = AppEnv['Bindings'];

/** Leaves the bare response to `serve`, until it is over. */
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
    // Once something was sent no error can be answered with: the client sees the end, and comes back.
    if (!outgoing.headersSent) throw thrown;
    onError(thrown);
    outgoing.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}
