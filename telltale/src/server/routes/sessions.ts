import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { SessionStatus } from '../../events/state.ts';
import { onceId } from '../http/idempotency.ts';
import type { AppEnv, ServerEdges } from '../server-edges.ts';
import { begunOnce } from './begun.ts';
import { findStream } from './find-stream.ts';
import { addOperation, answerJson } from './operation.ts';
import { pageOf, pageQuery, streamPlace } from './paging.ts';
import { eventQuery, sessionEventPage } from './schemas/events.ts';
import { sessionPage, sessionSummary, startSession, statusQuery } from './schemas/sessions.ts';
import { jsonObject, wholeNumber } from './schemas/wire.ts';
import { serveEvents } from './serve-events.ts';
import { stateJson } from './state-json.ts';
import type { Summaries } from './summaries.ts';

const tag = 'sessions';
export const byId = z.object({ id: z.string().openapi({ description: 'The id of it.' }) });
export const atSeq = z.object({
  seq: wholeNumber(Number.MAX_SAFE_INTEGER, 'After this event; now if absent.').optional(),
});

/** Sessions: what they are, and what is on their logs. */
export function mountSessions(app: OpenAPIHono<AppEnv>, edges: ServerEdges, summaries: Summaries): void {
  const { runtime, catalog, onError } = edges;
  const { store } = runtime;
  addOperation(
    app,
    {
      ...{ method: 'get', path: '/sessions', id: 'sessions', tag, role: 'read', answer: sessionPage },
      summary: 'Sessions, newest first',
      query: z.object({
        ...pageQuery,
        status: statusQuery.optional(),
        agent: z.string().optional().openapi({ description: 'Only sessions of this agent.' }),
      }),
    },
    async ({ query: { status, agent, ...asked } }) => {
      const filter = {
        kind: 'session' as const,
        ...(status === undefined ? {} : { status: status.flatMap(storedAs) }),
        ...(agent === undefined ? {} : { name: agent }),
      };
      const { items, next } = await pageOf(
        asked,
        streamPlace,
        (behind, limit) =>
          store.list({
            ...{ ...filter, limit },
            ...(behind === undefined ? {} : { before: { createdAt: behind[0], stream: behind[1] } }),
          }),
        ({ createdAt, stream }) => [createdAt, stream] as [number, string],
      );
      return {
        items: await Promise.all(items.map(summaries.session)),
        ...(next === undefined ? {} : { next }),
      };
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'post', path: '/sessions', id: 'startSession', tag, role: 'run' },
      summary: 'Start a session',
      description: 'Answers once it has begun; follow its events to see it work.',
      ...{ body: startSession, status: 201, answer: sessionSummary },
    },
    async ({ c, body }) => {
      const { agent, input, vars, chat, max_turns, user } = body;
      const id = onceId(c, 'ses');
      const session = runtime.start(catalog.find(agent), {
        ...{ input, onWaiting: 'release' },
        ...(id === undefined ? {} : { id }),
        ...(vars === undefined ? {} : { vars }),
        ...(chat === undefined ? {} : { chat }),
        ...(max_turns === undefined ? {} : { maxTurns: max_turns }),
        ...(user === undefined ? {} : { user }),
      });
      if (await begunOnce(session, id)) session.result.catch(onError);
      c.set('about', session.id);
      c.header('location', `/sessions/${session.id}`);
      return summaries.session(await findStream(store, 'session', session.id));
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/sessions/{id}', id: 'session', tag, role: 'read' },
      summary: 'A session',
      ...{ params: byId, answer: sessionSummary },
    },
    async ({ params: { id } }) => summaries.session(await findStream(store, 'session', id)),
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/sessions/{id}/state', id: 'sessionState', tag, role: 'read' },
      summary: 'The folded state of a session, now or after an event',
      ...{ params: byId, query: atSeq, answer: jsonObject },
    },
    async ({ c, params: { id }, query: { seq } }) => {
      await findStream(store, 'session', id);
      return answerJson(c, stateJson(await runtime.state(id, seq)));
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/sessions/{id}/events', id: 'sessionEvents', tag, role: 'read' },
      summary: 'The events of a session, or its event stream',
      description:
        'With `accept: text/event-stream` they are told as they come, behind `Last-Event-ID` or `after`, until the session ends. `next` of a page is the `after` of the one behind it.',
      stream:
        'Durable events have their seq as `id`; deltas and progress have none. `data` is the event as JSON.',
      ...{ params: byId, query: eventQuery, answer: sessionEventPage },
    },
    async ({ c, params: { id }, query }) =>
      serveEvents(edges, c, await findStream(store, 'session', id), query),
  );
}

/** One that was branched off and never resumed is called interrupted by the store; folded, it is one that would run. */
const storedAs = (status: SessionStatus): readonly string[] =>
  status === 'running' ? ['running', 'interrupted'] : [status];
