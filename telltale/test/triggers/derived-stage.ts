import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { EventBody, EventOf, SessionEvent } from '../../src/log/event.ts';
import { reduce } from '../../src/log/reduce.ts';
import { emptyState } from '../../src/log/state.ts';
import { bindBuiltIn } from '../../src/triggers/derived/built-in-types.ts';
import type { BoundTrigger } from '../../src/triggers/derived/compile-derived.ts';
import { compileDerived, type DerivedProgram } from '../../src/triggers/derived/compile-derived.ts';
import { decideDerived } from '../../src/triggers/derived/decide-derived.ts';
import { agentWith } from '../prompt/agent.ts';

export const programOf = (derived: readonly JsonObject[], more: JsonObject = {}): DerivedProgram => {
  const agent = agentWith({
    metadata: {
      fields: { status: { values: ['IDLE', 'CODING', 'DONE'], default: 'IDLE' }, note: { type: 'string' } },
    },
    context_variables: { derived, ...more },
  });
  return compileDerived(agent.context_variables.derived, (trigger) => bindBuiltIn(trigger) as BoundTrigger);
};

/** A session whose events are folded and decided on as a session's log does. */
export function play(program: DerivedProgram, vars: JsonObject = {}) {
  const state = emptyState();
  const events: SessionEvent[] = [];
  const asked: string[] = [];
  const problems: string[] = [];
  const append = (body: EventBody, at = events.length * 1000): SessionEvent => {
    const head = { seq: events.length + 1, at, session: 'ses_1', turn: state.turn };
    const event = { ...body, ...head, cause: { stream: 'ses_1', seq: 0, depth: 0 } } as SessionEvent;
    events.push(event);
    reduce(state, event);
    return event;
  };
  const say = (...bodies: readonly EventBody[]) => {
    for (const body of bodies) {
      const waiting = [append(body)];
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
        const decision = decideDerived(program, event, state);
        if (decision === undefined) continue;
        for (const change of decision.changes)
          waiting.push(append({ type: 'variable.changed', class: 'derived', ...change }));
        for (const { id, delayMs } of decision.timers)
          waiting.push(append({ type: 'timer.set', id, due: event.at + delayMs }));
        asked.push(...decision.asks.map(({ where }) => where));
        problems.push(...decision.problems);
      }
    }
  };
  say({
    type: 'session.started',
    agent: 'coder',
    input: 'Go.',
    manifest: { path: 'a.yml', hash: 'h' },
    model: 'scripted:x',
    vars,
  });
  const value = (name: string): Json | undefined => state.variables.get(name)?.value;
  const changes = () =>
    events.filter(
      (event): event is EventOf<'variable.changed'> =>
        event.type === 'variable.changed' && event.class === 'derived',
    );
  return { say, value, changes, state, events, asked, problems };
}

export const response = (text: string): EventBody => ({ type: 'response', text, final: false });
export const declared = (id: string, kind: 'tool' | 'agent', name: string): EventBody => ({
  type: 'action.declared',
  action: { id, kind, mode: 'async', name, parameters: {} },
});
export const completed = (id: string, output: Json): EventBody => ({
  type: 'action.completed',
  id,
  output,
  ms: 1,
  attempts: 1,
});
export const failed = (id: string, code: string): EventBody => ({
  type: 'action.failed',
  id,
  error: { code, message: 'No.', retryable: false },
  ms: 1,
  attempts: 1,
});
export const turnEnd: EventBody = {
  type: 'turn.completed',
  usage: { input: 1, output: 1 },
  cost_usd: 0,
  ms: 1,
  first_token_ms: 1,
  finish: 'stop',
};
export const ofChild = (
  type: 'response' | 'thought' | 'turn.completed',
  event: object,
  seq: number,
): EventBody => ({ type: `child.${type}`, action: 'a1', child: { session: 'ses_2', seq }, event }) as never;
export const set = (changes: Record<string, Json>): EventBody => ({
  type: 'metadata.changed',
  changes: Object.fromEntries(Object.entries(changes).map(([name, to]) => [name, { from: null, to }])),
  by: 'model',
});
export const event = (name: string, match?: JsonObject) => ({
  type: 'event',
  event: 'custom',
  match: { name, ...match },
});
export const custom = (name: string, data: Json = null): EventBody => ({ type: 'custom', name, data });
export const flag = (trigger: JsonObject, more: JsonObject = {}) =>
  programOf([{ name: 'flag', default: false, triggers: [trigger], ...more }]);
