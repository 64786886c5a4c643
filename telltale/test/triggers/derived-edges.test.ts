import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { EventBody } from '../../src/log/event.ts';
import { compileDerived } from '../../src/triggers/derived/compile-derived.ts';
import { expressedValues } from '../../src/triggers/derived/decide-derived.ts';
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

const changed = (name: string, to: Json): EventBody => ({
  type: 'variable.changed',
  name,
  class: 'runtime',
  from: null,
  to,
  by: 'model',
});
const interrupted = (id: string): EventBody => ({ type: 'action.interrupted', id, attempt: 1 });
const answer = (where: string): EventBody => ({
  type: 'invoke',
  where,
  artifact: 'judge',
  method: 'm',
  args: [],
  result: true,
  cached: false,
  ms: 1,
  cost: 0,
});

describe('tool_response', () => {
  const heard = (status: string, match?: JsonObject) =>
    play(flag({ type: 'tool_response', tool: 'build', status, ...(match === undefined ? {} : { match }) }));

  it('with status error hears of failures but time-outs, and can look at what went wrong', () => {
    const session = heard('error', { code: 'http' });
    session.say(declared('b1', 'tool', 'build'), failed('b1', 'timeout'));
    session.say(declared('b2', 'tool', 'build'), failed('b2', 'tool_failed'));
    expect(session.value('flag')).not.toBe(true);
    session.say(declared('b3', 'tool', 'build'), failed('b3', 'http'));
    expect(session.value('flag')).toBe(true);
  });

  it('with status skipped hears of calls that were left out, and why', () => {
    const session = heard('skipped', { reason: 'dependency', because: 'a1' });
    const skipped = (id: string, reason: 'dependency' | 'if', because: string): EventBody => ({
      type: 'action.skipped',
      id,
      reason,
      because,
    });
    session.say(declared('b1', 'tool', 'build'), skipped('b1', 'if', 'a1'));
    session.say(declared('b2', 'tool', 'build'), skipped('b2', 'dependency', 'a2'));
    expect(session.value('flag')).not.toBe(true);
    session.say(declared('b3', 'tool', 'build'), skipped('b3', 'dependency', 'a1'));
    expect(session.value('flag')).toBe(true);
  });

  it('with status interrupted hears of calls that nobody knows the end of', () => {
    const session = heard('interrupted');
    session.say(declared('b1', 'tool', 'build'), completed('b1', null));
    session.say(declared('t1', 'tool', 'test'), interrupted('t1'));
    expect(session.value('flag')).not.toBe(true);
    session.say(declared('b2', 'tool', 'build'), interrupted('b2'));
    expect(session.value('flag')).toBe(true);
  });

  it('is of tools: an agent of the same name is none', () => {
    const session = heard('ok');
    session.say(declared('b1', 'agent', 'build'), completed('b1', null));
    expect(session.value('flag')).not.toBe(true);
  });
});

describe('agent_turn_count', () => {
  it('of the session’s own agent, by name, counts its turns and those of its like below', () => {
    const session = play(flag({ type: 'agent_turn_count', agent: 'coder', at_least: 2 }));
    session.say(declared('a1', 'agent', 'helper'), ofChild('turn.completed', turnEnd, 2), turnEnd);
    expect(session.value('flag')).not.toBe(true);
    session.say(turnEnd);
    expect(session.value('flag')).toBe(true);
  });

  it('of another agent is looked at when that one ends a turn, and not at turns of others', () => {
    const session = play(
      flag({ type: 'agent_turn_count', agent: 'helper', at_least: 1 }, { reset_on: [event('again')] }),
    );
    session.say(declared('a1', 'agent', 'helper'), ofChild('turn.completed', turnEnd, 2));
    expect(session.value('flag')).toBe(true);
    session.say(custom('again'), turnEnd);
    expect(session.value('flag')).toBe(false);
  });
});

describe('metadata_match', () => {
  it('looks at all conditions at the first update, and from the second on at those it touches', () => {
    const session = play(
      flag({ type: 'metadata_match', conditions: { note: 'x' } }, { reset_on: [event('again')] }),
    );
    session.say(set({ note: 'x' }), custom('again'), set({ status: 'CODING' }));
    expect(session.value('flag')).toBe(false);
  });

  it('tells a field that was not there before from one that was null', () => {
    const session = play(
      flag({ type: 'metadata_match', conditions: { note: { from: { exists: false }, to: 'x' } } }),
    );
    session.say(set({ note: 'x' }));
    expect(session.value('flag')).toBe(true);
  });
});

describe('what derived variables bring about themselves', () => {
  it('sets off none of them: no answer of theirs, no timer of theirs', () => {
    const session = play(
      programOf([
        { name: 'asked', triggers: [{ type: 'function', artifact: 'judge', method: 'm', fallback: false }] },
        { name: 'heard', triggers: [{ type: 'event', event: 'invoke' }] },
      ]),
    );
    session.say(answer('variable asked: triggers[0]'));
    expect([session.value('asked'), session.value('heard')]).toEqual([true, undefined]);
    session.say(answer('hook before_action'));
    expect(session.value('heard')).toBe(true);
  });

  it('is followed by expressions all the same', () => {
    const session = play(
      programOf([
        { name: 'asked', triggers: [{ type: 'function', artifact: 'judge', method: 'm', fallback: false }] },
        { name: 'label', expression: 'asked == true ? "yes" : "no"' },
      ]),
      { asked: null, label: 'no' },
    );
    session.say(answer('variable asked: triggers[0]'));
    expect(session.value('label')).toBe('yes');
  });
});

describe('a reset', () => {
  it('to what the variable is already is no change', () => {
    const session = play(flag(event('go'), { reset_on: [event('again')] }), { flag: false });
    session.say(custom('again'));
    expect(session.changes()).toEqual([]);
    session.say(custom('go'), custom('again'));
    expect(session.changes()).toMatchObject([
      { name: 'flag', from: false, to: true },
      { name: 'flag', from: true, to: false, by: 'derived:reset' },
    ]);
  });
});

describe('an expression', () => {
  it('over metadata alone follows each change of it', () => {
    const session = play(
      programOf([{ name: 'busy', default: false, expression: 'metadata.status == "CODING"' }]),
      { busy: false },
    );
    session.say(set({ status: 'CODING' }), set({ note: 'x' }), set({ status: 'DONE' }));
    expect(session.changes().map(({ to }) => to)).toEqual([true, false]);
  });

  it('reads variables by their names, below vars, and by names that it makes up', () => {
    const more = { runtime: [{ name: 'tries', type: 'number', default: 0 }] };
    const session = play(
      programOf(
        [
          { name: 'one', expression: 'tries + 1' },
          { name: 'two', expression: 'vars.tries + 2' },
          { name: 'three', expression: 'vars["tri" + "es"] + 3' },
        ],
        more,
      ),
      { one: 1, two: 2, three: 3, tries: 0 },
    );
    session.say(changed('tries', 10));
    expect(['one', 'two', 'three'].map((name) => session.value(name))).toEqual([11, 12, 13]);
  });

  it('is worked out anew when a session begins or is taken up, and by nothing that it does not read', () => {
    const program = programOf([{ name: 'half', expression: 'metadata.note / 2', default: -1 }]);
    const session = play(program, { half: -1 });
    expect(session.problems).toHaveLength(1);
    session.say(changed('other', 1), response('hello'), custom('x'));
    expect(session.problems).toHaveLength(1);
    session.say({ type: 'session.resumed' } as EventBody);
    expect(session.problems).toHaveLength(2);
  });

  it('begins with what it comes to, or with its default where it comes to nothing', () => {
    const program = programOf(
      [
        { name: 'label', expression: 'ready ? "go" : "wait"' },
        { name: 'ready', expression: 'vars.n > 1 && metadata.status == "IDLE"' },
        { name: 'half', expression: 'metadata.note / 2', default: -1 },
      ],
      { runtime: [{ name: 'n', type: 'number', default: 0 }] },
    );
    expect(expressedValues(program, { n: 2 }, { status: 'IDLE', note: 'x' })).toEqual({
      n: 2,
      label: 'go',
      ready: true,
      half: -1,
    });
  });

  it('of a manifest that nobody checked is refused where it cannot be read, or goes round in a circle', () => {
    const raw =
      (...expressions: readonly (readonly [string, string])[]) =>
      () =>
        compileDerived(
          expressions.map(([name, expression]) => ({ name, expression })) as never,
          () => undefined as never,
        );
    expect(raw(['a', 'b +'])).toThrow('The expression of the variable "a" cannot be read');
    expect(raw(['a', 'b'], ['b', 'vars.a'])).toThrow(
      'These derived variables define each other in a cycle: a, b.',
    );
  });
});
