import { z } from '@hono/zod-openapi';
import type { ResumeRun, RunSummary, SignalRun, StartRun } from '../../../client/api.ts';
import { errorJson } from './error.ts';
import { acceptChanges } from './run-changes.ts';
import { quarantineNote } from './sessions.ts';
import { answered, asked, count, jsonObject, oneOrMore, pageOf, part, text, time } from './wire.ts';

const RUN_STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'quarantined'] as const;

export const runSummary = answered<RunSummary>('Run', {
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

export const runPage = pageOf('RunPage', runSummary);

export const runStatusQuery = oneOrMore(RUN_STATUSES, 'Only runs of one of these statuses.');

export const startRun = asked<StartRun>('StartRun', {
  agent: z.string().min(1).openapi({ description: 'The agent in whose name it runs.' }),
  workflow: z.string().min(1),
  input: jsonObject.optional(),
  vars: jsonObject.optional(),
});

export const resumeRun = asked<ResumeRun>('ResumeRun', { accept_changes: acceptChanges.optional() });

export const signalRun = asked<SignalRun>('SignalRun', {
  event: z.string().min(1).max(200).openapi({ description: 'What its `wait` step waits for.' }),
  data: jsonObject.optional(),
});
