import { z } from '@hono/zod-openapi';
import type { ApiError, Page, WhyChain } from '../../../client/api.ts';
import type { ErrorJson } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import type { SessionEvent } from '../../../log/event.ts';
import type { RunEvent } from '../../../log/run-event.ts';
import type { AcceptChanges, StepChange, WorkflowChanges } from '../../../log/run-state.ts';

/** A schema for each key of a wire type, and no others, so that the OpenAPI document matches the client's types. */
export type Shape<Wire> = {
  readonly [Key in keyof Wire]-?: object extends Pick<Wire, Key>
    ? z.ZodType<Wire[Key] | undefined>
    : z.ZodType<Wire[Key]>;
};

/** The schema of a response. Named in the document, but never used to validate. */
export const answered = <Wire>(name: string, shape: Shape<Wire>): z.ZodType<Wire> =>
  z.object(shape).openapi(name) as unknown as z.ZodType<Wire>;

/** A part of a response schema, without a name. */
export const part = <Wire>(shape: Shape<Wire>): z.ZodType<Wire> =>
  z.object(shape) as unknown as z.ZodType<Wire>;

/** The schema that a request's body is checked against. Unknown keys are errors. */
export const asked = <Wire>(name: string, shape: Shape<Wire>): z.ZodType<Wire> =>
  z.strictObject(shape).openapi(name) as unknown as z.ZodType<Wire>;

export const pageOf = <Item>(name: string, item: z.ZodType<Item>): z.ZodType<Page<Item>> =>
  answered<Page<Item>>(name, {
    items: z.array(item),
    next: z
      .string()
      .optional()
      .openapi({ description: 'The cursor of the next page. Absent on the last page.' }),
  });

/** Any JSON value. It has already been parsed. */
export const json = z.unknown().openapi({ description: 'Any JSON.' }) as unknown as z.ZodType<Json>;

export const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

export const text = z.string();

/** Milliseconds since the Unix epoch. */
export const time = z.number().openapi({ description: 'Milliseconds since the Unix epoch.' });

export const count = z.int().nonnegative();

export const role = z.enum(['read', 'run', 'admin']);

const DIGITS = /^\d{1,15}$/;

/** A whole number in a path or in a query. */
export const wholeNumber = (most: number, description: string, least = 0) =>
  z
    .string()
    .regex(DIGITS, 'is not a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    .openapi({ type: 'integer', minimum: least, maximum: most, description });

/** Several words in one parameter, separated by commas. */
export const oneOrMore = <Word extends string>(words: readonly [Word, ...Word[]], description: string) =>
  z
    .string()
    .transform((given) => given.split(','))
    .pipe(z.array(z.enum(words)))
    .openapi({
      param: { style: 'form', explode: false },
      type: 'array',
      items: { type: 'string', enum: [...words] },
      description,
    });

/** The parameters of a path such as `/sessions/{id}`. */
export const byId = z.object({ id: z.string().openapi({ description: 'Its id.' }) });

const decision = z.enum(['rerun', 'skip', 'fail']);
const stepStatus = z.enum([
  ...(['running', 'retrying', 'completed', 'failed'] as const),
  ...(['skipped', 'cancelled', 'interrupted', 'compensated'] as const),
]);

export const workflowChanges = answered<WorkflowChanges>('WorkflowChanges', {
  run: text,
  workflow: text,
  manifest: text,
  changed: z.boolean().openapi({ description: 'Whether it differs from the one the run is pinned to.' }),
  steps: z.array(
    part<StepChange>({
      step: text,
      change: z.enum(['kept', 'new', 'gone', 'in_doubt']),
      status: stepStatus.optional(),
      now: text.optional().openapi({ description: 'The step that replaces it.' }),
      outcome: text.openapi({ description: 'What happens to it.' }),
      choices: z.array(decision).optional(),
      decided: decision.optional(),
      passed: z.literal(true).optional().openapi({ description: 'It only runs if `run_new` lists it.' }),
    }),
  ),
  undecided: z.array(text).openapi({ description: 'Steps in doubt that nobody has decided about.' }),
});

export const acceptChanges = z.union([
  z.boolean(),
  z.strictObject({
    decide: z
      .record(text, z.union([decision, z.strictObject({ skip: json })]))
      .optional()
      .openapi({ description: 'The decision about each step in doubt.' }),
    run_new: z
      .array(text)
      .optional()
      .openapi({ description: 'New steps to run although their position has passed.' }),
  }),
]) as unknown as z.ZodType<AcceptChanges>;

export const errorJson: z.ZodType<ErrorJson> = answered<ErrorJson>('Error', {
  code: text.openapi({ description: 'A stable code.', example: 'session_unknown' }),
  message: text.openapi({ description: 'What went wrong.' }),
  hint: text.optional().openapi({ description: 'What to do.' }),
  retryable: z.boolean().openapi({ description: 'Whether the same request may succeed later.' }),
  output: json
    .optional()
    .openapi({ description: 'Output despite the failure, such as what a command printed.' }),
  cause: z
    .record(z.string(), z.unknown())
    .optional()
    .openapi({ description: 'Another error that led to it.' }) as unknown as z.ZodType<ErrorJson>,
});

const apiError = answered<ApiError>('ApiError', { error: errorJson, changes: workflowChanges.optional() });

export const openAiError = z
  .looseObject({ error: z.looseObject({ message: text, code: text }) })
  .openapi('OpenAiError', { description: 'In the format that OpenAI clients expect.' });

/** The error responses of every operation. */
export const ERROR_ANSWERS = {
  '4XX': {
    description: 'What is wrong with the request.',
    content: { 'application/json': { schema: apiError } },
  },
  '5XX': {
    description: 'What is wrong with the server.',
    content: { 'application/json': { schema: apiError } },
  },
} as const;

/** The most events on one page. */
export const MAX_EVENTS = 10_000;

const cause = z
  .object({ stream: text, seq: count, depth: count })
  .openapi({ description: 'The event that caused it. `seq` is 0 if that is on no log.' });

const head = { seq: z.int().positive(), at: time, type: text, cause };

const sessionEvent = z.looseObject({ ...head, session: text, turn: count }).openapi('SessionEvent', {
  description: 'An event of a session. Further keys depend on `type`.',
}) as unknown as z.ZodType<SessionEvent>;

const runEvent = z.looseObject({ ...head, run: text }).openapi('RunEvent', {
  description: 'An event of a workflow run. Further keys depend on `type`.',
}) as unknown as z.ZodType<RunEvent>;

export const sessionEventPage = pageOf('SessionEventPage', sessionEvent);
export const runEventPage = pageOf('RunEventPage', runEvent);

export const eventQuery = z.object({
  after: wholeNumber(Number.MAX_SAFE_INTEGER, 'The seq of the last event you have. 0 for all.').optional(),
  limit: wholeNumber(MAX_EVENTS, 'The most events. 1,000 by default.', 1).optional(),
  live: z.enum(['0', '1']).optional().openapi({ description: 'For a stream: 0 omits deltas and progress.' }),
});

export const whyChain = answered<WhyChain>('WhyChain', {
  events: z
    .array(z.union([sessionEvent, runEvent]))
    .openapi({ description: 'From the requested event to the first cause.' }),
  lost: z
    .object({ stream: text, seq: count })
    .optional()
    .openapi({ description: 'A cause that is no longer on any log.' }),
});
