import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Session } from '../../agent/runtime-types.ts';
import type { SessionSummary } from '../../log/session-summary.ts';
import { onceId } from '../http/idempotency.ts';
import { agentOf, hearOfLoss } from '../recovery/pick-up.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { accepted, begunOnce } from './admitted.ts';
import { chosenModel } from './agents.ts';
import { addOperation, pageQuery } from './operation.ts';
import {
  byTurn,
  sessionPage,
  sessionPrompt,
  sessionSummary,
  startSession,
  statusQuery,
} from './schemas/sessions.ts';
import { sessionEventPage } from './schemas/wire.ts';
import { findStream, mountStreamReads } from './stream-reads.ts';
import type { Quarantines, Summaries } from './summaries.ts';
import { listStreams } from './summaries.ts';

const tag = 'sessions';
/** Sessions and their logs. */
export function mountSessions(
  app: OpenAPIHono<AppEnv>,
  edges: ServerDeps,
  summaries: Summaries,
  quarantines: Quarantines,
): void {
  const { runtime, catalog, onError } = edges;
  const { store } = runtime;
  addOperation(
    app,
    {
      method: 'get',
      path: '/sessions',
      id: 'sessions',
      tag,
      role: 'read',
      answer: sessionPage,
      summary: 'Sessions, newest first',
      query: z.object({
        ...pageQuery,
        status: statusQuery.optional(),
        agent: z.string().optional().openapi({ description: 'Only sessions of this agent.' }),
      }),
    },
    ({ query: { status, agent, ...asked } }) =>
      listStreams(
        store,
        asked,
        {
          kind: 'session',
          ...(status === undefined ? {} : { status: status.flatMap(storedAs) }),
          ...(agent === undefined ? {} : { name: agent }),
        },
        quarantines,
        summaries.session,
      ),
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions',
      id: 'startSession',
      tag,
      role: 'run',
      summary: 'Start a session',
      description: 'Responds once it has started. Follow its events to see its progress.',
      body: startSession,
      status: 201,
      answer: sessionSummary,
    },
    async ({ c, body }) => {
      const { agent, input, vars, chat, max_turns, user, model } = body;
      const id = onceId(c, 'ses');
      const loaded = catalog.find(agent);
      const chosen = model === undefined ? undefined : chosenModel(model, loaded);
      const { queued, place } = await accepted(edges, 'session', id);
      let session: Session<unknown>;
      try {
        session = runtime.start(loaded, {
          input,
          onWaiting: 'release',
          queued,
          ...(id === undefined ? {} : { id }),
          ...(vars === undefined ? {} : { vars }),
          ...(chat === undefined ? {} : { chat }),
          ...(max_turns === undefined ? {} : { maxTurns: max_turns }),
          ...(user === undefined ? {} : { user }),
          ...(chosen === undefined ? {} : { model: chosen }),
        });
      } finally {
        place?.release(); // it has its own slot by now
      }
      if (await begunOnce(session, id)) hearOfLoss(session, onError);
      c.set('about', session.id);
      c.header('location', `/sessions/${session.id}`);
      return summaries.session(await findStream(store, 'session', session.id));
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/sessions/{id}/prompts/{turn}',
      id: 'sessionPrompt',
      tag,
      role: 'read',
      summary: 'The prompt of a turn of a session',
      description:
        'Rebuilt from the log and the present manifest. `match` tells whether it is what was sent. Values of environment variables in the manifest are shown as `${NAME}`.',
      params: byTurn,
      answer: sessionPrompt,
    },
    async ({ params: { id, turn } }) => {
      await findStream(store, 'session', id);
      const agent = runtime.session(id) === undefined ? await agentOf({ runtime, catalog }, id) : undefined;
      return runtime.prompt(id, turn, { ...(agent && { agent }), hideEnvironment: true });
    },
  );

  mountStreamReads(app, edges, {
    kind: 'session',
    title: 'A session',
    summary: sessionSummary,
    summaryOf: summaries.session,
    stateOf: (id, seq) => runtime.state(id, seq),
    eventPage: sessionEventPage,
    events:
      'With `accept: text/event-stream`, events are streamed as they happen, after `Last-Event-ID` or `after`, until the session ends. The `next` of a page is the `after` of the next one.',
    stream:
      'Durable events have their seq as `id`. Deltas and progress have none. `data` is the event as JSON.',
  });
}

/** The store calls a fork that was never resumed interrupted. Its summary shows it as running. */
const storedAs = (status: SessionSummary['status']): readonly string[] =>
  status === 'running' ? ['running', 'interrupted'] : [status];
