import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { ReviewDetails, ReviewReply } from '../../agent/reviews/read-review.ts';
import type { AnswerReview, ReviewDetailsInfo } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { takeUp } from '../recovery/pick-up.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation, answerJson, pageOf, pageQuery } from './operation.ts';
import { answerReview, reviewDetails, reviewPage } from './schemas/daemon.ts';
import { byId } from './schemas/wire.ts';

const tag = 'reviews';
const place = z.tuple([z.number(), z.string()]);

/** Open reviews, and the answers to them. */
export function mountReviews(app: OpenAPIHono<AppEnv>, edges: ServerDeps): void {
  const { runtime } = edges;
  addOperation(
    app,
    {
      method: 'get',
      path: '/reviews',
      id: 'reviews',
      tag,
      role: 'read',
      answer: reviewPage,
      summary: 'Open reviews, oldest first',
      query: z.object({
        ...pageQuery,
        session: z.string().optional().openapi({
          description: 'Only those of this session or run, and of all sessions and runs below it.',
        }),
      }),
    },
    ({ query: { session, ...asked } }) =>
      pageOf(
        asked,
        place,
        async (behind, limit) => {
          const open = await runtime.reviews(session === undefined ? {} : { session });
          const isBehind = ({ at, review }: { at: number; review: string }) =>
            behind === undefined || at > behind[0] || (at === behind[0] && review > behind[1]);
          return open
            .toSorted((a, b) => a.at - b.at || (a.review < b.review ? -1 : 1))
            .filter(isBehind)
            .slice(0, limit);
        },
        ({ at, review }) => [at, review] as [number, string],
      ),
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/reviews/{id}',
      id: 'review',
      tag,
      role: 'read',
      summary: 'A review, open or answered',
      params: byId,
      answer: reviewDetails,
    },
    async ({ params: { id } }) => wireReview(await runtime.review(id)),
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/reviews/{id}',
      id: 'answerReview',
      tag,
      role: 'run',
      summary: 'Answer a review, once',
      description: 'With `answer`, `choice` or `text`. Its session or run then continues.',
      laterWhen: 'The process that runs it has not received the answer yet.',
      params: byId,
      body: answerReview,
      answer: reviewDetails,
    },
    async ({ c, caller, params: { id }, body }) => {
      c.set('about', id);
      const { review, outcome } = await runtime.answer(id, replyOf(body, caller.by));
      if (outcome === 'resolved') await goOn(edges, review.session);
      const details = wireReview(await runtime.review(id));
      return answerJson(c, JSON.stringify(details), outcome === 'resolved' ? 200 : 202);
    },
  );
}

/** The answer counts even if its session cannot continue here, which is not the caller's mistake. */
async function goOn(edges: ServerDeps, stream: string): Promise<void> {
  try {
    await takeUp(edges, stream);
  } catch (thrown) {
    edges.onError(thrown);
  }
}

function replyOf({ answer, choice, text, note, always }: AnswerReview, by: string): ReviewReply {
  if (answer === undefined && choice === undefined && text === undefined) throw nothingSaid();
  return {
    by,
    ...(answer === undefined ? {} : { approved: answer === 'approved' }),
    ...(choice === undefined ? {} : { choice }),
    ...(text === undefined ? {} : { text }),
    ...(note === undefined ? {} : { note }),
    ...(always === undefined ? {} : { always }),
  };
}

function wireReview(details: ReviewDetails): ReviewDetailsInfo {
  const {
    input,
    plan,
    replaces,
    decision,
    status: _,
    grants: __,
    definition: ___,
    work: ____,
    ...rest
  } = details;
  const { voided: _____, ...info } = rest;
  return {
    ...info,
    ...(input === undefined ? {} : { input }),
    ...(plan === undefined ? {} : { plan: plan as unknown as readonly JsonObject[] }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(decision === undefined
      ? {}
      : {
          answer: decision.answer,
          by: decision.by,
          answeredAt: decision.at,
          ...(decision.choice === undefined ? {} : { choice: decision.choice }),
          ...(decision.note === undefined ? {} : { note: decision.note }),
          ...(decision.always === undefined ? {} : { forSession: decision.always }),
        }),
  };
}

const nothingSaid = () =>
  new RuntimeError(
    'bad_request',
    'The body of POST /reviews/{id} is empty: "answer", "choice" and "text" are missing.',
    {
      hint: 'Send {"answer": "approved"}, {"answer": "rejected"}, or the "choice" of one of the review\'s options.',
    },
  );
