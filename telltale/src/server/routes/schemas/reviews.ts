import { z } from '@hono/zod-openapi';
import type { AnswerReview, ReviewDetailsInfo, ReviewInfo } from '../../../client/api.ts';
import { answered, asked, jsonObject, pageOf, type Shape, text, time } from './wire.ts';

const infoShape: Shape<ReviewInfo> = {
  review: text,
  kind: z.enum(['permission', 'approval', 'confirm', 'plan', 'escalation']),
  of: z.enum(['session', 'run']),
  session: text.openapi({ description: 'The id of the session or run.' }),
  agent: text,
  workflow: text.optional(),
  parent: text.optional(),
  above: z.array(text).optional().openapi({
    description: 'The sessions and runs above it, the closest first: who called or triggered it.',
  }),
  action: text,
  target: text,
  what: text,
  parameters: text.optional(),
  because: text,
  uncovered: z.array(text).optional().openapi({
    description: 'Why the call may run files that an approval does not cover.',
  }),
  always: text.optional().openapi({
    description: 'What it may be approved for, for the rest of the session.',
  }),
  options: z.array(text).optional(),
  assignee: text.optional(),
  due: time.optional(),
  at: time,
};

export const reviewPage = pageOf('ReviewPage', answered<ReviewInfo>('Review', infoShape));

export const reviewDetails = answered<ReviewDetailsInfo>('ReviewDetails', {
  ...infoShape,
  input: jsonObject.optional(),
  plan: z.array(jsonObject).optional(),
  files: z
    .array(z.object({ path: text, content: text, leads: z.exactOptional(text) }))
    .optional()
    .openapi({ description: 'The files that an approval covers, each with the hash of its content.' }),
  replaces: z.object({ review: text, changed: z.array(text) }).optional(),
  answer: text.optional().openapi({
    description: '`approved`, `rejected` or `withdrawn`; absent while it is open.',
  }),
  choice: text.optional(),
  by: text.optional(),
  note: text.optional(),
  answeredAt: time.optional(),
  forSession: z.boolean().optional().openapi({ description: 'Approved for the rest of the session.' }),
});

export const answerReview = asked<AnswerReview>('AnswerReview', {
  answer: z.enum(['approved', 'rejected']).optional(),
  choice: text.optional().openapi({ description: "One of the review's options." }),
  text: text.optional().openapi({
    description: 'An option in so many words; on an escalation, what the agent is told to try again with.',
  }),
  note: text.optional(),
  always: z.boolean().optional().openapi({
    description: 'With an approval: for the rest of the session, where the review has `always`.',
  }),
});
