import { z } from '@hono/zod-openapi';
import type { ResumeSession, SessionSummary, StartSession } from '../../../client/api.ts';
import type { QuarantineNote, StateSpan } from '../../../events/session-summary.ts';
import { errorJson } from './error.ts';
import { answered, asked, count, json, jsonObject, oneOrMore, pageOf, text, time } from './wire.ts';

/** Characters of what an agent is told at once. */
const MAX_TEXT = 1_000_000;

const SESSION_STATUSES = [
  ...(['running', 'waiting', 'completed', 'failed', 'stalled', 'cancelled'] as const),
  'quarantined',
] as const;

export const quarantineNote = answered<QuarantineNote>('Quarantine', {
  why: text.openapi({ description: 'A sentence.' }),
  at: time,
  release: z.enum(['resume', 'retry']).openapi({
    description: '`resume`: resume it. `retry`: its fleet could not go on with it; `POST /fleet/{id}/retry`.',
  }),
  code: text.optional().openapi({ description: 'Of the reason, in a fleet: `manifest_changed`.' }),
});

const span = answered<StateSpan>('StateSpan', { value: json, at: time, seq: count });

export const sessionSummary = answered<SessionSummary>('Session', {
  id: text,
  agent: text,
  title: text.openapi({ description: 'The beginning of its input.' }),
  model: text,
  status: z.enum(SESSION_STATUSES).openapi({
    description: '`quarantined`: nothing picks it up until somebody resumes it.',
  }),
  quarantine: quarantineNote.optional().openapi({ description: 'Why it is quarantined.' }),
  chat: z.literal(true).optional(),
  parent: text.optional().openapi({ description: 'The session that called it.' }),
  forked: z.object({ session: text, seq: count }).optional(),
  startedAt: time,
  updatedAt: time,
  seq: count.openapi({ description: 'The last event that is in it.' }),
  turn: count,
  input_tokens: z.number(),
  output_tokens: z.number(),
  estimated: z.literal(true).optional().openapi({
    description:
      'true where tokens are among these that were counted here, since a provider gave no figures.',
  }),
  cost_usd: z.number(),
  actions: z.object({ declared: count, completed: count, failed: count }),
  reviews: z.array(text).openapi({ description: 'What waits for a person: ids of open reviews.' }),
  runs: z.array(text).openapi({ description: 'Workflow runs that it set off and that have not ended.' }),
  metadata: jsonObject,
  bands: z
    .record(z.string(), z.array(span))
    .openapi({ description: 'The states it declared over time, by field.' }),
  result: text.optional().openapi({ description: 'The beginning of its result.' }),
  error: errorJson.optional(),
});

export const sessionPage = pageOf('SessionPage', sessionSummary);

export const statusQuery = oneOrMore(SESSION_STATUSES, 'Only sessions of one of these statuses.');

const spoken = z.string().min(1).max(MAX_TEXT);

export const startSession = asked<StartSession>('StartSession', {
  agent: z.string().min(1).openapi({ description: 'Its name.' }),
  input: spoken.openapi({ description: 'What it is to do.' }),
  vars: jsonObject.optional().openapi({ description: 'Variables by name.' }),
  chat: z
    .boolean()
    .optional()
    .openapi({ description: 'A conversation: a final response ends the exchange, and `say` goes on.' }),
  max_turns: z.int().positive().optional(),
  user: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .openapi({ description: 'Whose variables of `key: user` it has.' }),
});

export const said = asked<{ readonly text: string }>('Said', { text: spoken });

export const cancelled = asked<{ readonly reason?: string }>('Cancel', {
  reason: z.string().max(2_000).optional(),
});

export const resumeSession = asked<ResumeSession>('ResumeSession', {
  accept_changes: z
    .boolean()
    .optional()
    .openapi({ description: 'Goes on although the manifest is not the one that it started with.' }),
  max_turns: z
    .int()
    .positive()
    .optional()
    .openapi({ description: 'Turns of the whole session at the most.' }),
});

export const forked = asked<{ readonly seq: number }>('Fork', {
  seq: z
    .int()
    .positive()
    .openapi({ description: 'The last event that the new session has in common with this one.' }),
});
