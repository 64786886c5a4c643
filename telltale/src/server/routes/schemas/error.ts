import { z } from '@hono/zod-openapi';
import type { ApiError } from '../../../client/api.ts';
import type { ErrorJson } from '../../../kernel/runtime-error.ts';
import { workflowChanges } from './run-changes.ts';
import { answered, json, text } from './wire.ts';

export const errorJson: z.ZodType<ErrorJson> = answered<ErrorJson>('Error', {
  code: text.openapi({ description: 'A literal to switch on.', example: 'session_unknown' }),
  message: text.openapi({ description: 'What was found.' }),
  hint: text.optional().openapi({ description: 'What to do.' }),
  retryable: z.boolean().openapi({ description: 'Whether the same request may succeed later.' }),
  output: json
    .optional()
    .openapi({ description: 'What there is to see although it failed: what a command printed.' }),
  cause: z
    .record(z.string(), z.unknown())
    .optional()
    .openapi({ description: 'Another error that led to it.' }) as unknown as z.ZodType<ErrorJson>,
});

const apiError = answered<ApiError>('ApiError', { error: errorJson, changes: workflowChanges.optional() });

export const openAiError = z
  .looseObject({ error: z.looseObject({ message: text, code: text }) })
  .openapi('OpenAiError', { description: 'As clients of OpenAI read it.' });

/** What every operation may answer beside what it is for. */
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
