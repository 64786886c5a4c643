import type { DeclaredAction } from '../../src/log/action.ts';
import type { Cause, EventBody, LiveEvent, SessionEvent } from '../../src/log/event.ts';

export const SESSION = 'ses_01jc0000000000000000000abc';
/** Fixed, so that what is printed is the same on every machine. */
export const BEGAN = Date.UTC(2026, 0, 1, 12);

/** An event, and how many milliseconds after the session's beginning it happened. */
export type Timed = readonly [ms: number, body: EventBody, cause?: Cause];

/** A log as the runtime would write it: seq, turn and cause filled in. */
export function eventList(timed: readonly Timed[], session = SESSION): readonly SessionEvent[] {
  let turn = 0;
  let turnSeq = 0;
  return timed.map(([ms, body, cause], index) => {
    if (body.type === 'turn.started') {
      turn++;
      turnSeq = index + 1;
    }
    const from = body.type === 'turn.started' ? Math.min(1, index) : turnSeq;
    const natural = { stream: session, seq: index === 0 ? 0 : from, depth: from === 0 ? 0 : 1 };
    return {
      seq: index + 1,
      at: BEGAN + ms,
      session,
      turn,
      cause: cause ?? natural,
      ...body,
    } as SessionEvent;
  });
}

export const started = (
  changes: Partial<Extract<EventBody, { type: 'session.started' }>> = {},
): EventBody => ({
  type: 'session.started',
  agent: 'fixer',
  input: 'Fix the test',
  manifest: { path: '/p/agent.yml', hash: 'h' },
  model: 'scripted:turns.yml',
  ...changes,
});

export const turnStarted: EventBody = { type: 'turn.started', prompt: { tokens: 900, reused_prefix: 1 } };

export const turnCompleted = (ms: number): EventBody => ({
  type: 'turn.completed',
  usage: { input: 900, output: 120 },
  cost_usd: 0.0031,
  ms,
  first_token_ms: 5,
  finish: 'stop',
});

export const declared = (id: string, changes: Partial<DeclaredAction> = {}): EventBody => ({
  type: 'action.declared',
  action: { id, kind: 'tool', mode: 'async', name: 'run_tests', parameters: {}, ...changes },
});

export const actionStarted = (id: string): EventBody => ({
  type: 'action.started',
  id,
  attempt: 1,
  input: {},
});

export const completed = (id: string, ms: number, output: unknown = 'ok'): EventBody => ({
  type: 'action.completed',
  id,
  output: output as string,
  ms,
  attempts: 1,
});

export const thoughtDelta = (text: string, depth = 0): LiveEvent => ({
  type: 'thought.delta',
  session: SESSION,
  turn: 1,
  depth,
  text,
});

export const responseDelta = (text: string): LiveEvent => ({
  type: 'response.delta',
  session: SESSION,
  turn: 1,
  text,
});

/** A run that starts an action while the model speaks, changes metadata and ends well. */
export const SHORT_RUN: readonly SessionEvent[] = eventList([
  [0, started()],
  [0, turnStarted],
  [200, { type: 'model.output', offset: 0, text: '<thought>Look first.' }],
  [250, { type: 'thought', text: 'Look first.\nThen mend.', depth: 0 }],
  [300, declared('a1', { parameters: { path: 'src/x.ts', flags: ['-v'] } })],
  [301, actionStarted('a1')],
  [400, { type: 'metadata.changed', changes: { status: { from: 'IDLE', to: 'CODING' } }, by: 'model' }],
  [500, { type: 'fault', code: 'stray_close', message: 'There was a </b>.' }],
  [1000, turnCompleted(1000)],
  [1101, completed('a1', 800, '12 passed')],
  [1102, { type: 'response', text: 'All **12** pass.', final: true }],
  [1103, { type: 'session.completed', result: 'All **12** pass.' }],
]);
