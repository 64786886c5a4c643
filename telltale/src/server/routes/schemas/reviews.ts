import { z } from '@hono/zod-openapi';
import type { AnswerReview, ReviewDetailsInfo, ReviewInfo } from '../../../client/api.ts';
import { answered, asked, jsonObject, pageOf, type Shape, text, time } from './wire.ts';

const infoShape: Shape<ReviewInfo> = {
  review: text,
  kind: z.enum(['permission', 'approval', 'confirm', 'plan', 'escalation']),
  of: z.enum(['session', 'run']),
  session: text.openapi({ description: 'The id of the session or run.' }),
  agent: text,
  workflow: text.exactOptional(),
  parent: text.exactOptional(),
  action: text,
  target: text,
  what: text,
  parameters: text.exactOptional(),
  because: text,
  options: z.array(text).exactOptional(),
  assignee: text.exactOptional(),
  due: time.exactOptional(),
  at: time,
};

export const reviewPage = pageOf('ReviewPage', answered<ReviewInfo>('Review', infoShape));

export const reviewDetails = answered<ReviewDetailsInfo>('ReviewDetails', {
  ...infoShape,
  input: jsonObject.exactOptional(),
  plan: z.array(jsonObject).exactOptional(),
  replaces: z.object({ review: text, changed: z.array(text) }).exactOptional(),
  answer: text.exactOptional().openapi({
    description: '`approved`, `rejected` or `withdrawn`; absent while it is open.',
  }),
  choice: text.exactOptional(),
  by: text.exactOptional(),
  note: text.exactOptional(),
  answeredAt: time.exactOptional(),
});

export const answerReview = asked<AnswerReview>('AnswerReview', {
  answer: z.enum(['approved', 'rejected']).exactOptional(),
  choice: text.exactOptional().openapi({ description: "One of the review's options." }),
  text: text.exactOptional().openapi({
    description: 'An option in so many words; on an escalation, what the agent is told to try again with.',
  }),
  note: text.exactOptional(),
});
