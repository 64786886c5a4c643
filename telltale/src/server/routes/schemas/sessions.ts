import { z } from '@hono/zod-openapi';
import type { ForkSession, ResumeSession, SessionSummary, StartSession } from '../../../client/api.ts';
import type {
  CountedMessage,
  CountedPart,
  PromptContent,
  SessionPrompt,
} from '../../../log/session-prompt.ts';
import type { QuarantineNote, StateSpan } from '../../../log/session-summary.ts';
import {
  answered,
  asked,
  count,
  errorJson,
  json,
  jsonObject,
  oneOrMore,
  pageOf,
  part,
  text,
  time,
} from './wire.ts';

/** The most characters of one message to an agent. */
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

/** Selects a prompt of a session. */
export const byTurn = z.object({
  id: text.openapi({ description: 'The id of the session.' }),
  turn: text
    .regex(/^(?:last|[1-9]\d{0,14})$/, 'is neither the number of a turn nor "last"')
    .transform((given) => (given === 'last' ? undefined : Number(given)))
    .openapi({ type: 'string', description: 'The number of a turn, or `last`.' }),
});

const countedPart = answered<CountedPart>('PromptPart', { name: text, text, tokens: count });

const promptContent = z
  .union([
    part<Extract<PromptContent, { type: 'text' | 'reasoning' }>>({
      type: z.enum(['text', 'reasoning']),
      text,
    }),
    part<Extract<PromptContent, { type: 'call' }>>({
      type: z.literal('call'),
      id: text,
      name: text,
      input: text.openapi({ description: 'JSON.' }),
    }),
    part<Extract<PromptContent, { type: 'result' }>>({
      type: z.literal('result'),
      call: text,
      name: text,
      text,
      failed: z.literal(true).optional(),
    }),
  ])
  .openapi('PromptContent') as unknown as z.ZodType<PromptContent>;

export const sessionPrompt = answered<SessionPrompt>('Prompt', {
  session: text,
  agent: text,
  model: text,
  dialect: z.enum(['tags', 'tools', 'step']),
  turn: count,
  last: count.openapi({ description: 'The newest turn of the session.' }),
  seq: count.openapi({ description: 'The event with which the turn began.' }),
  at: time,
  system: z.array(countedPart).openapi({ description: 'The system prompt, in its parts.' }),
  messages: z.array(
    answered<CountedMessage>('PromptMessage', {
      role: z.enum(['user', 'assistant', 'tool']),
      turn: count.openapi({ description: 'The turn whose request had it first.' }),
      new: z.boolean().openapi({ description: 'Whether the request of the turn before did not have it.' }),
      tokens: count,
      content: z.array(promptContent),
    }),
  ),
  tools: z.array(countedPart).openapi({ description: 'Native tools, each with its definition as JSON.' }),
  options: jsonObject.openapi({ description: 'What else the model was given: `toolChoice`.' }),
  request: jsonObject.optional().openapi({
    description:
      "What the provider's package adds to the body of the request, such as `max_tokens` and `store`; absent where that is not known.",
  }),
  tokens: part({ total: count, system: count, tools: count, messages: count, new: count }).openapi({
    description: 'Counted as models of the o200k family do.',
  }),
  usage: part<NonNullable<SessionPrompt['usage']>>({
    input: z.number(),
    output: z.number(),
    estimated: z.literal(true).optional(),
    cached: z.number().optional().openapi({ description: "Input tokens from the provider's cache." }),
    reasoning: z.number().optional(),
  })
    .optional()
    .openapi({ description: 'What the request used; absent until it has ended.' }),
  hash: part<SessionPrompt['hash']>({ sent: text.optional(), rebuilt: text }),
  match: z.enum(['same', 'differs', 'unknown']).openapi({
    description: 'Whether this is what was sent. `unknown`: the log has no hash to compare with.',
  }),
  differs: z
    .array(z.enum(['system', 'tools', 'options', 'messages']))
    .optional()
    .openapi({ description: 'The parts that are not what was sent, where the log can tell.' }),
  note: text.optional().openapi({ description: 'Why it may differ.' }),
});

const spoken = z.string().min(1).max(MAX_TEXT);

const modelChoice = z.string().min(1).max(200).openapi({
  description: "In place of the agent's own model: `provider/model`, or a name of the agent's `models`.",
});

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
  model: modelChoice.optional(),
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

export const forked = asked<ForkSession>('Fork', {
  seq: z
    .int()
    .positive()
    .openapi({ description: 'The last event that the new session has in common with this one.' }),
  message: spoken.optional().openapi({
    description:
      'Where the event is the input or a message of a person: what it says instead. Elsewhere: a further message.',
  }),
  model: modelChoice.optional(),
  vars: jsonObject.optional().openapi({ description: 'Variables that it has instead.' }),
});
