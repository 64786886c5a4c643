import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InvokeRecord } from '../../src/lib/calls.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { EventBody, EventOf, SessionEvent } from '../../src/log/event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import { emptyState } from '../../src/log/state.ts';
import { checkManifest } from '../../src/manifest/check-manifest.ts';
import { isPlace } from '../../src/triggers/derived/compile-derived.ts';
import { decideDerived } from '../../src/triggers/derived/decide-derived.ts';
import {
  completed,
  custom,
  declared,
  event,
  failed,
  flag,
  ofChild,
  play,
  programOf,
  response,
  set,
  turnEnd,
} from './derived-stage.ts';

describe('agent_text', () => {
  const trigger = { type: 'agent_text', agent: 'InterviewAgent', match: { equals: 'TERMINATE' } };

  it('is the whole text and nothing else: no trimming, no case folding', () => {
    const session = play(flag({ type: 'agent_text', match: { equals: 'TERMINATE' } }), { flag: false });
    for (const text of ['terminate', ' TERMINATE', 'TERMINATE\n', 'I TERMINATE']) session.say(response(text));
    expect(session.value('flag')).toBe(false);
    session.say(response('TERMINATE'));
    expect(session.changes()).toMatchObject([
      { name: 'flag', class: 'derived', from: false, to: true, by: 'derived:agent_text' },
    ]);
    session.say(response('TERMINATE'));
    expect(session.changes()).toHaveLength(1);
  });

  it('of a sub-agent is heard on the log of its caller, and of that agent only', () => {
    const session = play(flag(trigger), { flag: false });
    session.say(declared('a1', 'agent', 'InterviewAgent'), response('TERMINATE'));
    expect(session.value('flag')).toBe(false);
    session.say(ofChild('response', { text: 'TERMINATE', final: true }, 9));
    expect(session.value('flag')).toBe(true);
  });

  it('looks at thoughts, texts or responses, as it says, for a part or a pattern', () => {
    const thought = play(flag({ type: 'agent_text', in: 'thought', match: { contains: 'stuck' } }));
    thought.say(response('I am stuck.'));
    expect(thought.value('flag')).not.toBe(true);
    thought.say({ type: 'thought', text: 'I am stuck.', depth: 1 });
    expect(thought.value('flag')).toBe(true);
    const text = play(flag({ type: 'agent_text', in: 'text', match: { matches: '^v[0-9]+$' } }));
    text.say({ type: 'text', text: 'v1 ' }, { type: 'text', text: 'v12' });
    expect(text.changes()).toHaveLength(1);
  });
});

describe('the other triggers', () => {
  it("agent_turn_count counts the session's own turns, or those of a sub-agent over all its calls", () => {
    const own = play(flag({ type: 'agent_turn_count', at_least: 2 }));
    own.say(declared('a1', 'agent', 'helper'), ofChild('turn.completed', turnEnd, 2), turnEnd);
    expect(own.value('flag')).not.toBe(true);
    own.say(turnEnd);
    expect(own.value('flag')).toBe(true);
    const child = play(flag({ type: 'agent_turn_count', agent: 'helper', at_least: 2 }));
    child.say(declared('a1', 'agent', 'helper'), turnEnd, turnEnd, ofChild('turn.completed', turnEnd, 2));
    expect(child.value('flag')).not.toBe(true);
    child.say(ofChild('turn.completed', turnEnd, 5));
    expect(child.value('flag')).toBe(true);
  });

  it('tool_response looks at the tool, how the call ended and what came of it', () => {
    const ok = play(flag({ type: 'tool_response', tool: 'build', match: { exit: 0 } }));
    ok.say(declared('t1', 'tool', 'test'), completed('t1', { exit: 0 }));
    ok.say(declared('b1', 'tool', 'build'), completed('b1', { exit: 1 }));
    expect(ok.value('flag')).not.toBe(true);
    ok.say(declared('b2', 'tool', 'build'), completed('b2', { exit: 0 }));
    expect(ok.value('flag')).toBe(true);
    const late = play(flag({ type: 'tool_response', tool: 'build', status: 'timeout' }));
    late.say(declared('b1', 'tool', 'build'), failed('b1', 'http'));
    expect(late.value('flag')).not.toBe(true);
    late.say(declared('b2', 'tool', 'build'), failed('b2', 'timeout'));
    expect(late.value('flag')).toBe(true);
    const text = play(
      flag({ type: 'tool_response', tool: 'build', match: { output: { contains: 'green' } } }),
    );
    text.say(declared('b1', 'tool', 'build'), completed('b1', 'all green'));
    expect(text.value('flag')).toBe(true);
  });

  it('metadata_match is looked at when one of its fields changes, and all at the first update', () => {
    const session = play(
      flag({ type: 'metadata_match', conditions: { status: 'DONE' } }, { reset_on: [event('again')] }),
    );
    session.say(set({ status: 'CODING' }));
    expect(session.value('flag')).not.toBe(true);
    session.say(set({ status: 'DONE' }), custom('again'), set({ note: 'x' }));
    expect(session.changes().map(({ to }) => to)).toEqual([true, false]);
    session.say(set({ status: 'CODING' }), set({ status: 'DONE' }));
    expect(session.value('flag')).toBe(true);
  });

  it('metadata_match sees what a field was before', () => {
    const session = play(flag({ type: 'metadata_match', conditions: { status: { from: 'CODING' } } }));
    session.say(set({ status: 'CODING' }));
    expect(session.value('flag')).not.toBe(true);
    session.say({
      type: 'metadata.changed',
      changes: { status: { from: 'CODING', to: 'DONE' } },
      by: 'model',
    });
    expect(session.value('flag')).toBe(true);
  });

  it('metadata_match knows the defaults as what was before the first update', () => {
    const first = {
      type: 'metadata.changed',
      changes: { status: { from: 'IDLE', to: 'CODING' } },
      by: 'model',
    } as const;
    const after = (conditions: JsonObject) => {
      const session = play(flag({ type: 'metadata_match', conditions }));
      session.say(first);
      return session.value('flag') === true;
    };
    expect(after({ status: { from: 'IDLE', to: 'CODING' } })).toBe(true);
    expect(after({ status: { from: 'CODING' } })).toBe(false);
    expect(after({ note: { changed: true } })).toBe(false);
  });

  it('timer_expired begins with its event, and matches when its own timer fires', () => {
    const session = play(flag({ type: 'timer_expired', after: '5m', since: 'message.received' }));
    expect(session.state.timers).toEqual([]);
    session.say({ type: 'message.received', from: 'user', text: 'Hello.' });
    const [timer] = session.state.timers;
    expect(timer).toMatchObject({ id: 'variable flag: triggers[0]', due: 1000 + 300_000 });
    session.say({ type: 'timer.fired', id: 'another' });
    expect(session.value('flag')).not.toBe(true);
    session.say({ type: 'timer.fired', id: timer?.id ?? '' });
    expect(session.changes()).toMatchObject([{ to: true, by: 'derived:timer_expired' }]);
    expect(session.state.timers).toEqual([]);
  });

  it('timers of derived variables begin no timers', () => {
    const session = play(
      programOf([
        { name: 'a', triggers: [{ type: 'timer_expired', after: 1, since: 'timer.set' }] },
        { name: 'b', triggers: [{ type: 'timer_expired', after: 1, since: 'timer.fired' }] },
      ]),
    );
    session.say({ type: 'timer.set', id: 'x', due: 5 });
    expect(session.state.timers.map(({ id }) => id)).toEqual(['x', 'variable a: triggers[0]']);
    session.say({ type: 'timer.fired', id: 'variable a: triggers[0]' });
    expect(session.value('a')).toBe(true);
    expect(session.state.timers.map(({ id }) => id)).toEqual(['x']);
  });

  it('function asks outside and counts only what comes back on the log', () => {
    const program = flag({ type: 'function', artifact: 'judge', method: 'tired', fallback: false });
    const session = play(program, { flag: false });
    session.say(turnEnd);
    expect(session.asked).toEqual(['variable flag: triggers[0]', 'variable flag: triggers[0]']);
    const answer = (result: Json, where = 'variable flag: triggers[0]'): EventBody => {
      const record: InvokeRecord = {
        where,
        artifact: 'judge',
        method: 'tired',
        args: [],
        result,
        cached: false,
        ms: 1,
        cost: 0,
      };
      return { type: 'invoke', ...record };
    };
    session.say(answer(true, 'hook before_action'), answer(false), answer(null));
    expect(session.value('flag')).toBe(false);
    session.say(answer(true));
    expect(session.value('flag')).toBe(true);
    session.say(answer({ mood: 'low' }));
    expect(session.value('flag')).toEqual({ mood: 'low' });
    expect(session.changes().map(({ by }) => by)).toEqual(['derived:function', 'derived:function']);
  });
});

describe('what sets and resets', () => {
  it('the first trigger that matches counts, with its own value', () => {
    const session = play(
      programOf([
        {
          name: 'phase',
          default: 'none',
          triggers: [
            { ...event('a'), set: 'first' },
            { type: 'event', event: 'custom', set: 'any' },
          ],
        },
      ]),
      { phase: 'none' },
    );
    session.say(custom('a'), custom('b'));
    expect(session.changes()).toMatchObject([
      { to: 'first', by: 'derived:event' },
      { to: 'any', by: 'derived:event#1' },
    ]);
  });

  it('a reset of one trigger undoes what that trigger set, and a reset of the variable whatever set it', () => {
    const session = play(
      programOf([
        {
          name: 'phase',
          default: 'none',
          triggers: [
            { ...event('a'), set: 'A', reset_on: [event('undo a')] },
            { ...event('b'), set: 'B' },
          ],
          reset_on: [event('undo all')],
        },
      ]),
      { phase: 'none' },
    );
    session.say(custom('a'), custom('undo a'), custom('b'), custom('undo a'));
    expect(session.value('phase')).toBe('B');
    session.say(custom('undo all'));
    expect(session.changes().map(({ to, by }) => [to, by])).toEqual([
      ['A', 'derived:event'],
      ['none', 'derived:reset'],
      ['B', 'derived:event#1'],
      ['none', 'derived:reset'],
    ]);
  });
});

describe('expression', () => {
  const program = programOf(
    [
      { name: 'ready', expression: 'done && tries < 3 && metadata.status == "DONE"', default: false },
      { name: 'done', default: false, triggers: [event('done')] },
      { name: 'label', expression: 'ready ? "go" : "wait"' },
    ],
    { runtime: [{ name: 'tries', type: 'number', default: 0 }] },
  );
  const vars = { ready: false, done: false, label: null, tries: 0 };

  it('follows from other variables and the metadata, each behind what it reads', () => {
    const session = play(program, vars);
    expect(session.value('label')).toBe('wait');
    session.say(set({ status: 'DONE' }), custom('done'));
    expect(session.changes().slice(-3)).toMatchObject([
      { name: 'done', to: true, by: 'derived:event' },
      { name: 'ready', to: true, by: 'derived:expression' },
      { name: 'label', from: 'wait', to: 'go', by: 'derived:expression' },
    ]);
    session.say({ type: 'variable.changed', name: 'tries', class: 'runtime', from: 0, to: 5, by: 'model' });
    expect(session.value('label')).toBe('wait');
  });

  it('that gives nothing leaves the default, and says what is wrong', () => {
    const session = play(programOf([{ name: 'half', expression: 'metadata.note / 2', default: -1 }]), {
      half: -1,
    });
    session.say(set({ note: 'text' }));
    expect(session.value('half')).toBe(-1);
    expect(session.problems.at(-1)).toContain('The expression of the variable "half"');
  });

  it('that defines itself through others is refused with the manifest', () => {
    const { issues } = checkManifest({
      kind: 'Agent',
      name: 'x',
      context_variables: {
        derived: [
          { name: 'a', expression: 'b' },
          { name: 'b', expression: '!vars.a' },
        ],
      },
    });
    expect(issues.map(({ code }) => code)).toContain('cycle');
  });
});

describe('a guard', () => {
  const guarded = (context_variables: JsonObject) =>
    checkManifest({
      kind: 'Agent',
      name: 'x',
      context_variables,
      permissions: { paths: ['$place'] },
    } as never).issues.filter(({ code }) => code === 'model_controlled');

  it.each([
    ['the model may write', { runtime: [{ name: 'place' }] }],
    ['is kept, and the model may write', { defined: [{ name: 'place', writers: ['model'] }] }],
    [
      "is derived from an agent's text",
      { derived: [{ name: 'place', triggers: [{ type: 'agent_text', match: { equals: 'x' } }] }] },
    ],
    [
      "is derived from the event of an agent's text",
      { derived: [{ name: 'place', triggers: [{ type: 'event', event: 'child.response' }] }] },
    ],
    [
      'is reset by what an agent says',
      {
        derived: [
          {
            name: 'place',
            triggers: [{ type: 'tool_response', tool: 'x' }],
            reset_on: [{ type: 'agent_text', match: { equals: 'x' } }],
          },
        ],
      },
    ],
    [
      'is derived from one that the model may write',
      { runtime: [{ name: 'seed' }], derived: [{ name: 'place', expression: 'seed' }] },
    ],
  ])('may not go by a variable that %s', (_, variables) => {
    expect(guarded(variables as never)).toHaveLength(1);
  });

  it('may go by one that only people and workflows write', () => {
    expect(guarded({ defined: [{ name: 'place', writers: ['user', 'workflow'] }] })).toEqual([]);
  });
});

describe('any log', () => {
  const program = programOf(
    [
      {
        name: 'a',
        default: false,
        triggers: [
          { type: 'agent_text', match: { contains: 'x' }, reset_on: [event('r')] },
          {
            type: 'metadata_match',
            conditions: { status: { changed: true, in: ['CODING', 'DONE'] } },
            set: 2,
          },
          { type: 'timer_expired', after: 1, since: 'response', set: 3 },
        ],
        reset_on: [{ type: 'agent_turn_count', at_least: 3 }],
      },
      {
        name: 'b',
        triggers: [{ type: 'event', event: 'variable.changed', set: 'seen' }],
        reset_on: [event('r')],
      },
      { name: 'c', expression: 'a == true ? b : n' },
    ],
    { runtime: [{ name: 'n', type: 'number', default: 0 }] },
  );
  const body: fc.Arbitrary<EventBody> = fc.oneof(
    fc.constantFrom('x', 'y').map(response),
    fc.constantFrom('IDLE', 'CODING', 'DONE').map((status) => set({ status })),
    fc.constant(turnEnd),
    fc.constant(custom('r')),
    fc.constant<EventBody>({ type: 'timer.fired', id: 'variable a: triggers[2]' }),
    fc.nat(3).map(
      (to): EventBody => ({
        type: 'variable.changed',
        name: 'n',
        class: 'runtime',
        from: 0,
        to,
        by: 'model',
      }),
    ),
  );

  it('folds to the live state without deciding again, and decided again it gives the same events', () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 40 }), (bodies) => {
        const live = play(program, { a: false, b: null, c: null, n: 0 });
        live.say(...bodies);
        expect(fold(live.events)).toEqual(live.state);
        const isDerived = (each: SessionEvent) =>
          (each.type === 'variable.changed' && each.class === 'derived') ||
          (each.type === 'timer.set' && isPlace(each.id));
        const state = emptyState();
        const decided: unknown[] = [];
        for (const each of live.events) {
          reduce(state, each);
          const decision = decideDerived(program, each, state);
          decided.push(...(decision?.changes ?? []), ...(decision?.timers ?? []).map(({ id }) => ({ id })));
        }
        const written = live.events
          .filter(isDerived)
          .map((each) =>
            each.type === 'variable.changed'
              ? { name: each.name, from: each.from, to: each.to, by: each.by }
              : { id: (each as EventOf<'timer.set'>).id },
          );
        expect(decided).toEqual(written);
      }),
    );
  });
});
