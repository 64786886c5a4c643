import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { hasEnded } from '../../agent/ending/has-ended.ts';
import { leadRun } from '../../agent/guided/guidance.ts';
import { findWorkflow } from '../../agent/runs/find-workflow.ts';
import type { WorkflowRun } from '../../agent/runs/run-types.ts';
import type { ResumeRun, RunSummary, SignalRun, StartRun } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { onceId } from '../http/idempotency.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { accepted, begun, begunOnce, placeHere } from './admitted.ts';
import { addOperation, pageQuery } from './operation.ts';
import { cancelled, quarantineNote } from './schemas/sessions.ts';
import {
  acceptChanges,
  answered,
  asked,
  byId,
  count,
  errorJson,
  jsonObject,
  oneOrMore,
  pageOf,
  part,
  runEventPage,
  text,
  time,
  workflowChanges,
} from './schemas/wire.ts';
import { cancelSession } from './session-actions.ts';
import { findStream, mountStreamReads } from './stream-reads.ts';
import type { Quarantines, Summaries } from './summaries.ts';
import { listStreams } from './summaries.ts';

const tag = 'runs';

/** Workflow runs. */
export function mountRuns(
  app: OpenAPIHono<AppEnv>,
  edges: ServerDeps,
  summaries: Summaries,
  quarantines: Quarantines,
): void {
  const { runtime, catalog, onError } = edges;
  const { store, workflows } = runtime;
  addOperation(
    app,
    {
      method: 'get',
      path: '/runs',
      id: 'runs',
      tag,
      role: 'read',
      answer: runPage,
      summary: 'Workflow runs, newest first',
      query: z.object({
        ...pageQuery,
        session: z
          .string()
          .optional()
          .openapi({ description: 'Only runs that this session or run triggered or called.' }),
        workflow: z.string().optional(),
        status: runStatusQuery.optional(),
      }),
    },
    ({ query: { session, workflow, status, ...asked } }) =>
      listStreams(
        store,
        asked,
        {
          kind: 'run',
          ...(status === undefined ? {} : { status }),
          ...(workflow === undefined ? {} : { name: workflow }),
          ...(session === undefined ? {} : { parent: session }),
        },
        quarantines,
        summaries.run,
      ),
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/runs',
      id: 'startRun',
      tag,
      role: 'run',
      summary: 'Run a workflow on its own',
      body: startRun,
      status: 201,
      answer: runSummary,
    },
    async ({ c, body }) => {
      const { agent, workflow, input, vars } = body;
      const id = onceId(c, 'run');
      const found = findWorkflow(catalog.find(agent), workflow);
      const { queued, place } = await accepted(edges, 'run', id);
      let run: WorkflowRun;
      try {
        run = workflows.start(found, {
          ...(id === undefined ? {} : { id }),
          ...(input === undefined ? {} : { input }),
          ...(vars === undefined ? {} : { vars }),
          onWaiting: 'release',
          queued,
        });
        place?.give('run', run.id);
        if (await begunOnce(run, id)) run.result.catch(onError);
      } finally {
        place?.release();
      }
      c.set('about', run.id);
      c.header('location', `/runs/${run.id}`);
      return summaries.run(await findStream(store, 'run', run.id));
    },
  );

  mountStreamReads(app, edges, {
    kind: 'run',
    title: 'A workflow run',
    summary: runSummary,
    summaryOf: summaries.run,
    stateOf: (id, seq) => workflows.state(id, seq),
    eventPage: runEventPage,
    events: 'The same as for a session.',
    stream: 'Events have their seq as `id`; `data` is the event as JSON.',
  });

  addOperation(
    app,
    {
      method: 'post',
      path: '/runs/{id}/cancel',
      id: 'cancelRun',
      tag,
      role: 'run',
      summary: 'Cancel a run, and compensate its steps',
      params: byId,
      body: cancelled,
      bodyOptional: true,
      status: 202,
    },
    async ({ c, caller, params: { id }, body: { reason } }) => {
      c.set('about', id);
      const { status, parent } = await findStream(store, 'run', id);
      if (status === 'cancelled') return;
      if (hasEnded(status)) throw runEnded(id, status);
      const session = parent === undefined ? undefined : await store.info(parent);
      // A run and the session that it guides end together.
      if (session !== undefined && id === leadRun(session.stream) && !hasEnded(session.status))
        await cancelSession(edges, session, caller.by, reason);
      else await workflows.cancel(id, reason, caller.by);
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/runs/{id}/changes',
      id: 'runChanges',
      tag,
      role: 'read',
      summary: 'What the changed workflow means for a run',
      description: 'Step by step. Nothing is changed. Send the decision to `POST /runs/{id}/resume`.',
      params: byId,
      answer: workflowChanges,
    },
    async ({ c, params: { id } }) => {
      c.set('about', id);
      await findStream(store, 'run', id);
      return workflows.changes(id);
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/runs/{id}/resume',
      id: 'resumeRun',
      tag,
      role: 'run',
      summary: 'Resume an interrupted run',
      params: byId,
      body: resumeRun,
      bodyOptional: true,
      answer: runSummary,
    },
    async ({ c, caller, params: { id }, body: { accept_changes } }) => {
      c.set('about', id);
      const { head } = await findStream(store, 'run', id);
      const place = await placeHere(edges, 'run', id);
      try {
        const run = await workflows.resume(id, {
          by: caller.by,
          ...(accept_changes === undefined ? {} : { acceptChanges: accept_changes }),
          onWaiting: 'release',
        });
        await begun(run, head);
        run.result.catch(onError);
      } finally {
        place?.release();
      }
      return summaries.run(await findStream(store, 'run', id));
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/runs/{id}/signal',
      id: 'signalRun',
      tag,
      role: 'run',
      summary: 'Send a run the event that its `wait` step waits for',
      description: 'An event that arrives early is stored.',
      params: byId,
      body: signalRun,
      status: 202,
    },
    async ({ c, caller, params: { id }, body: { event, data } }) => {
      c.set('about', id);
      const { status } = await findStream(store, 'run', id);
      if (hasEnded(status)) throw runEnded(id, status);
      await workflows.signal(id, event, data, caller.by);
    },
  );
}

const runEnded = (run: string, status: string) =>
  new RuntimeError('run_ended', `${run} has already ended (${status}).`, {
    hint: `See how: GET /runs/${run}`,
  });

const RUN_STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'quarantined'] as const;

const runSummary = answered<RunSummary>('Run', {
  id: text,
  workflow: text,
  agent: text,
  status: z.enum(RUN_STATUSES).openapi({
    description: '`quarantined`: nothing picks it up until somebody resumes it.',
  }),
  quarantine: quarantineNote.optional().openapi({ description: 'Why it is quarantined.' }),
  session: text.optional().openapi({ description: 'The session whose trigger or action started it.' }),
  parent: text.optional().openapi({ description: 'The run whose step called it.' }),
  trigger: text.optional(),
  startedAt: time,
  updatedAt: time,
  seq: count,
  step: text.optional().openapi({ description: 'The last step that began.' }),
  state: text.optional().openapi({ description: 'The last state that was entered.' }),
  steps: z.object({ completed: count, failed: count }),
  reviews: z.array(text),
  waiting: part<NonNullable<RunSummary['waiting']>>({ for: text, due: time.optional() }).optional(),
  cost_usd: z.number(),
  error: errorJson.optional(),
});

const runPage = pageOf('RunPage', runSummary);

const runStatusQuery = oneOrMore(RUN_STATUSES, 'Only runs of one of these statuses.');

const startRun = asked<StartRun>('StartRun', {
  agent: z.string().min(1).openapi({ description: 'The agent in whose name it runs.' }),
  workflow: z.string().min(1),
  input: jsonObject.optional(),
  vars: jsonObject.optional(),
});

const resumeRun = asked<ResumeRun>('ResumeRun', { accept_changes: acceptChanges.optional() });

const signalRun = asked<SignalRun>('SignalRun', {
  event: z.string().min(1).max(200).openapi({ description: 'What its `wait` step waits for.' }),
  data: jsonObject.optional(),
});
