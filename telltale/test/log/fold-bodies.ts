import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { reduce } from '../../src/log/reduce.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';

export const SESSION = 'ses_test';

/** A log that is written event by event, and what it comes to. Each event is a second after the one before. */
export function createFolding() {
  const state = emptyState();
  let seq = 0;
  let at = 0;
  let turn = 0;
  const folding = {
    state,
    /** Time passes before the next event. */
    later(ms: number) {
      at += ms;
      return folding;
    },
    fold(...bodies: readonly EventBody[]): SessionState {
      for (const body of bodies) {
        if (body.type === 'turn.started') turn++;
        at += 1_000;
        const cause = { stream: SESSION, seq, depth: 2 };
        reduce(state, { seq: ++seq, at, session: SESSION, turn, cause, ...body } as SessionEvent);
      }
      return state;
    },
  };
  return folding;
}

/** What a log of these comes to. */
export const folded = (...bodies: readonly EventBody[]): SessionState => createFolding().fold(...bodies);

type Declared = Extract<EventBody, { readonly type: 'action.declared' }>['action'];

export const STARTED: EventBody = {
  type: 'session.started',
  agent: 'coder',
  input: 'Go.',
  manifest: { path: 'agent.yml', hash: 'h' },
  model: 'scripted:x',
};
export const TURN: EventBody = { type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } };
export const TURN_ENDED: EventBody = {
  type: 'turn.completed',
  usage: { input: 10, output: 5 },
  cost_usd: 0.5,
  ms: 1,
  first_token_ms: 1,
  finish: 'stop',
};
export const failure = (code: string) => ({ code, message: 'It went wrong.', retryable: true });
export const turnFailed = (code: string): EventBody => ({ type: 'turn.failed', error: failure(code) });
export const said = (text: string): EventBody => ({ type: 'model.output', offset: 0, text });
export const declared = (id: string, more: Partial<Declared> = {}): EventBody => ({
  type: 'action.declared',
  action: { id, kind: 'tool', mode: 'async', name: 'shell', parameters: {}, ...more },
});
export const begun = (id: string, input = {}): EventBody => ({
  type: 'action.started',
  id,
  attempt: 1,
  input,
});
export const done = (id: string, output = 'ok'): EventBody => ({
  type: 'action.completed',
  id,
  output,
  ms: 7,
  attempts: 2,
});
export const failed = (id: string): EventBody => ({
  type: 'action.failed',
  id,
  error: failure('tool_failed'),
  ms: 7,
  attempts: 2,
});
export const FOREACH: Partial<Declared> = { kind: 'internal', name: 'foreach' };
