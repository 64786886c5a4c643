import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { hasEnded } from '../../session/ending/has-ended.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import { findWorkflow } from '../../session/runs/find-workflow.ts';
import { onceId } from '../http/idempotency.ts';
import type { AppEnv, ServerEdges } from '../server-edges.ts';
import { begun, begunOnce } from './begun.ts';
import { cancelSession } from './cancel-session.ts';
import { findStream } from './find-stream.ts';
import { addOperation, answerJson } from './operation.ts';
import { pageOf, pageQuery, streamPlace } from './paging.ts';
import { eventQuery, runEventPage } from './schemas/events.ts';
import { resumeRun, runPage, runStatusQuery, runSummary, signalRun, startRun } from './schemas/runs.ts';
import { cancelled } from './schemas/sessions.ts';
import { jsonObject } from './schemas/wire.ts';
import { serveEvents } from './serve-events.ts';
import { atSeq, byId } from './sessions.ts';
import { stateJson } from './state-json.ts';
import type { Summaries } from './summaries.ts';

const tag = 'runs';

/** Workflow runs. */
export function mountRuns(app: OpenAPIHono<AppEnv>, edges: ServerEdges, summaries: Summaries): void {
  const { runtime, catalog, onError } = edges;
  const { store, workflows } = runtime;
  addOperation(
    app,
    {
      ...{ method: 'get', path: '/runs', id: 'runs', tag, role: 'read', answer: runPage },
      summary: 'Workflow runs, newest first',
      query: z.object({
        ...pageQuery,
        session: z
          .string()
          .optional()
          .openapi({ description: 'Only runs that this session or run set off or called.' }),
        workflow: z.string().optional(),
        status: runStatusQuery.optional(),
      }),
    },
    async ({ query: { session, workflow, status, ...asked } }) => {
      const filter = {
        kind: 'run' as const,
        ...(status === undefined ? {} : { status }),
        ...(workflow === undefined ? {} : { name: workflow }),
        ...(session === undefined ? {} : { parent: session }),
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
      return { items: await Promise.all(items.map(summaries.run)), ...(next === undefined ? {} : { next }) };
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'post', path: '/runs', id: 'startRun', tag, role: 'run' },
      summary: 'Run a workflow on its own',
      ...{ body: startRun, status: 201, answer: runSummary },
    },
    async ({ c, body }) => {
      const { agent, workflow, input, vars } = body;
      const id = onceId(c, 'run');
      const run = workflows.start(findWorkflow(catalog.find(agent), workflow), {
        ...(id === undefined ? {} : { id }),
        ...(input === undefined ? {} : { input }),
        ...(vars === undefined ? {} : { vars }),
        onWaiting: 'release',
      });
      if (await begunOnce(run, id)) run.result.catch(onError);
      c.set('about', run.id);
      c.header('location', `/runs/${run.id}`);
      return summaries.run(await findStream(store, 'run', run.id));
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/runs/{id}', id: 'run', tag, role: 'read', summary: 'A workflow run' },
      ...{ params: byId, answer: runSummary },
    },
    async ({ params: { id } }) => summaries.run(await findStream(store, 'run', id)),
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/runs/{id}/state', id: 'runState', tag, role: 'read' },
      summary: 'The folded state of a run, now or after an event',
      ...{ params: byId, query: atSeq, answer: jsonObject },
    },
    async ({ c, params: { id }, query: { seq } }) => {
      await findStream(store, 'run', id);
      return answerJson(c, stateJson(await workflows.state(id, seq)));
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'get', path: '/runs/{id}/events', id: 'runEvents', tag, role: 'read' },
      summary: 'The events of a run, or its event stream',
      description: 'As those of a session.',
      stream: 'Events have their seq as `id`; `data` is the event as JSON.',
      ...{ params: byId, query: eventQuery, answer: runEventPage },
    },
    async ({ c, params: { id }, query }) => serveEvents(edges, c, await findStream(store, 'run', id), query),
  );

  addOperation(
    app,
    {
      ...{ method: 'post', path: '/runs/{id}/cancel', id: 'cancelRun', tag, role: 'run' },
      summary: 'End a run, and undo what its steps say how to undo',
      ...{ params: byId, body: cancelled, bodyOptional: true, status: 202 },
    },
    async ({ c, caller, params: { id }, body: { reason } }) => {
      c.set('about', id);
      const { status, parent } = await findStream(store, 'run', id);
      if (status === 'cancelled') return;
      if (hasEnded(status)) throw runEnded(id, status);
      const session = parent === undefined ? undefined : await store.info(parent);
      // It ends with the session that it leads, and that with it.
      if (session !== undefined && id === leadRun(session.stream) && !hasEnded(session.status))
        await cancelSession(edges, session, caller.name, reason);
      else await workflows.cancel(id, reason, caller.name);
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'post', path: '/runs/{id}/resume', id: 'resumeRun', tag, role: 'run' },
      summary: 'Go on with a run that was interrupted',
      ...{ params: byId, body: resumeRun, bodyOptional: true, answer: runSummary },
    },
    async ({ c, params: { id }, body: { accept_changes } }) => {
      c.set('about', id);
      const { head } = await findStream(store, 'run', id);
      const run = await workflows.resume(id, {
        ...(accept_changes === undefined ? {} : { acceptChanges: accept_changes }),
        onWaiting: 'release',
      });
      await begun(run, head);
      run.result.catch(onError);
      return summaries.run(await findStream(store, 'run', id));
    },
  );

  addOperation(
    app,
    {
      ...{ method: 'post', path: '/runs/{id}/signal', id: 'signalRun', tag, role: 'run' },
      summary: 'Give a run the event that its `wait` step waits for',
      description: 'One that comes early is kept.',
      ...{ params: byId, body: signalRun, status: 202 },
    },
    async ({ c, caller, params: { id }, body: { event, data } }) => {
      c.set('about', id);
      const { status } = await findStream(store, 'run', id);
      if (hasEnded(status)) throw runEnded(id, status);
      await workflows.signal(id, event, data, caller.name);
    },
  );
}

const runEnded = (run: string, status: string) =>
  new RuntimeError('run_ended', `${run} has ended already (${status}).`, {
    hint: `See how: GET /runs/${run}`,
  });
