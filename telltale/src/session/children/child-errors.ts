import { type ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';

/** Sub-agents below the agent that nobody called, one below the other. */
export const MAX_DEPTH = 5;

export const DEPTH_LIMIT = 'depth_limit';

/** `agents`: from the first to the one that was not called any more. */
export const tooDeep = (agents: readonly string[]) =>
  new RuntimeError(
    DEPTH_LIMIT,
    `Agents can call each other at most ${MAX_DEPTH} levels deep, and this call would be one more: ${agents.join(' → ')}.`,
    { hint: 'Do it without another agent. If agents call each other in a cycle, remove one of the calls.' },
  );

const LIMIT_HINT =
  'Ask it for less. How far it may go is in "limits" and "budget" of its manifest, and of those that called it.';

/** What the caller of a sub-agent hears of its failure: limits under their own code, all else as `agent_failed`. */
export function childFailed(agent: string, session: string, error: ErrorJson): RuntimeError {
  const { code, message, hint, retryable } = error;
  if (code === DEPTH_LIMIT) return new RuntimeError(code, message, { hint });
  const passed = code.startsWith('limit_');
  return new RuntimeError(
    passed ? code : 'agent_failed',
    `The agent "${agent}" (${session}) failed: ${passed ? '' : `${code}: `}${message}`,
    { hint: passed ? LIMIT_HINT : hint, retryable },
  );
}

export const childStalled = (agent: string, session: string, message: string) =>
  new RuntimeError('agent_stalled', `The agent "${agent}" (${session}) stalled: ${message}`, {
    hint: 'Ask it for less at once, or say more clearly what it should do.',
  });

export const childCancelled = (agent: string, session: string) =>
  new RuntimeError('agent_cancelled', `The agent "${agent}" (${session}) was cancelled.`, {
    hint: `To see by whom and why: telltale logs ${session}`,
  });

export const childInterrupted = (agent: string, session: string, why: string | undefined) =>
  new RuntimeError(
    'agent_interrupted',
    `The agent "${agent}" (${session}) was let go of before its end${why === undefined ? '.' : `: ${why}`}`,
    { hint: 'Call it again, or resume the session that called it.', retryable: true },
  );

export const notInSession = (agent: string) =>
  new RuntimeError('agent_outside', `The agent "${agent}" can be called only from a session.`, {
    hint: 'Start a session of it with runtime.start.',
  });

/** Ids of sessions are for whoever starts them to choose: what is found under a sub-agent's may be a stranger's. */
export const idTaken = (agent: string, session: string) =>
  new RuntimeError(
    'agent_id_taken',
    `The agent "${agent}" cannot be called here: its session would be ${session}, which is another one.`,
    { hint: 'Call it again under another id.' },
  );

export const resultTooLarge = (agent: string, session: string, maxBytes: number) =>
  new RuntimeError(
    'output_too_large',
    `The result of the agent "${agent}" (${session}) has more than ${maxBytes} bytes.`,
    { hint: 'Ask it for less, or let it write to a file.' },
  );
