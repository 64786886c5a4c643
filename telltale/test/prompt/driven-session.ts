import type { DeclaredAction } from '../../src/log/action.ts';
import type { EventBody } from '../../src/log/event.ts';
import { reduce } from '../../src/log/reduce.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';
import type { Conversation } from '../../src/prompt/conversation.ts';
import type { Prompt } from '../../src/prompt/prompt.ts';

/** A session's state, driven by hand with the real fold. */
export interface DrivenSession {
  readonly state: SessionState;
  log(...bodies: readonly EventBody[]): void;
  declare(action: Partial<DeclaredAction> & { readonly id: string }): void;
  /** Asks as a session does: the prompt, then `turn.started`, then what the model says. */
  turn(conversation: Conversation, output: string): Prompt;
}

export function drivenSession(input = 'Fix the bug.', metadata = {}): DrivenSession {
  const state = emptyState();
  const log = (...bodies: readonly EventBody[]) => {
    for (const body of bodies) {
      const turn = body.type === 'turn.started' ? state.turn + 1 : state.turn;
      const place = { seq: state.seq + 1, at: 0, session: 'ses_test', turn };
      reduce(state, { ...body, ...place, cause: { stream: 'ses_test', seq: 0, depth: 0 } });
    }
  };
  log({
    type: 'session.started',
    agent: 'coder',
    input,
    manifest: { path: 'a.yml', hash: 'h' },
    model: 'scripted:x',
    metadata,
  });
  return {
    state,
    log,
    declare: (action) =>
      log({
        type: 'action.declared',
        action: { kind: 'tool', mode: 'async', name: 'fetch', parameters: {}, ...action },
      }),
    turn(conversation, output) {
      const prompt = conversation.extend(state);
      log({ type: 'turn.started', prompt: { tokens: prompt.tokens, reused_prefix: 1 } });
      if (output !== '') log({ type: 'model.output', offset: 0, text: output });
      return prompt;
    },
  };
}

export const failed = (id: string, code: string, message: string): EventBody => ({
  type: 'action.failed',
  id,
  error: { code, message, retryable: false },
  ms: 3,
  attempts: 1,
});

export const completed = (id: string, output: never | string | number | object): EventBody => ({
  type: 'action.completed',
  id,
  output: output as never,
  ms: 12.4,
  attempts: 1,
});
