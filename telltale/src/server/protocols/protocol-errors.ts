import { RuntimeError } from '../../kernel/runtime-error.ts';
import { badRequest } from '../http/http-errors.ts';

/** What a front end's request is refused with before anything has begun. */

export const agentUnnamed = (known: readonly string[], where: string) =>
  badRequest(
    'The request names no agent, and there is more than one here.',
    `Name it ${where}. There are: ${known.join(', ')}.`,
  );

export const noAgents = () =>
  new RuntimeError('agent_unknown', 'This server has no agent.', {
    hint: 'Start it in a folder with an agent, or name one: telltale serve agent.yml',
  });

export const threadBusy = (thread: string, session: string | undefined) =>
  new RuntimeError(
    'thread_busy',
    `The last message of the conversation "${thread}" is still being answered.`,
    {
      hint: `Wait for the answer or end it first${session === undefined ? '' : `; it is session ${session}`}.`,
      retryable: true,
    },
  );

export const notWaiting = (thread: string, review: string) =>
  new RuntimeError(
    'review_answered',
    `The conversation "${thread}" does not wait for an answer to ${review}.`,
    {
      hint: 'Somebody may have answered it elsewhere. Send a message to go on.',
    },
  );
