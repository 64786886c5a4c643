import type { Clock } from '../../kernel/clock.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ClientView } from '../../session/runs/client-types.ts';
import { signToken, type TokenKeys } from './continue-token.ts';
import type { ToolAnswer } from './tool-answer.ts';

export interface AnswerDeps {
  readonly keys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly tokenTtlMs: number;
}

/** What a client is told of its run. The same for the same state of the run's log, its token included. */
export function workflowAnswer(run: string, view: ClientView, deps: AnswerDeps): ToolAnswer {
  switch (view.kind) {
    case 'task':
      return { structured: { run, isComplete: false, ...inHand(view, deps) } };
    case 'waiting':
    case 'busy':
      return { structured: { run, isComplete: false, waitingFor: waitingFor(run, view) } };
    case 'completed':
      return { structured: { run, isComplete: true, output: view.output } };
    case 'failed':
      return { structured: { run, isComplete: false, error: view.error as unknown as Json }, isError: true };
    case 'cancelled': {
      const error = { code: 'cancelled', message: `The run was cancelled: ${view.reason}`, retryable: false };
      return { structured: { run, isComplete: false, error }, isError: true };
    }
  }
}

/** The token is as old as the question: who asks again within its time gets the same one. */
function inHand(
  { run, task }: Extract<ClientView, { readonly kind: 'task' }>,
  { keys, clock, tokenTtlMs }: AnswerDeps,
): JsonObject {
  const { step, attempt, nth, prompt, requires, accepts, again, at } = task;
  const now = clock.now();
  const expiresAt = (at + tokenTtlMs > now ? at : now) + tokenTtlMs;
  return {
    continueToken: signToken({ run, step, attempt, nth, expiresAt }, keys.current),
    step: {
      prompt,
      ...(again === undefined ? {} : { instruction: again.text }),
      ...(isEmpty(requires) ? {} : { requires }),
      ...(isEmpty(accepts) ? {} : { accepts }),
    },
  };
}

function waitingFor(
  run: string,
  view: Extract<ClientView, { readonly kind: 'waiting' | 'busy' }>,
): JsonObject {
  const later = `Call resume_session {"run": "${run}"} later.`;
  if (view.kind === 'busy')
    return { what: 'steps that this server does itself', hint: `They take a while. ${later}` };
  const { for: what, due, reviews } = view;
  return {
    what: reviews.length > 0 ? 'a person' : what,
    ...(due === undefined ? {} : { until: new Date(due).toISOString() }),
    ...(reviews.length === 0
      ? {}
      : {
          reviews: reviews.map(({ review, prompt, options }) => ({ review, prompt, options: [...options] })),
        }),
    hint:
      reviews.length > 0
        ? `A person has to answer, for example with: telltale reviews approve ${reviews[0]?.review ?? ''}. ${later}`
        : later,
  };
}

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
