import { describe, expect, it } from 'vitest';
import { sessionContext } from '../../src/agent/decision-context.ts';
import type { EventBody } from '../../src/log/event.ts';
import { declared, done, failed, folded, STARTED, TURN } from '../log/fold-bodies.ts';

const compensated: EventBody = { type: 'action.compensated', id: 'a', by: 'x' };

describe('what a decision of a session is given', () => {
  it('is who asks, what is left to pay with, and the values that count', () => {
    const given = { ...STARTED, metadata: { status: 'A' }, vars: { v: 1 } } as EventBody;
    expect(sessionContext(folded(given))).toEqual({
      agent_id: 'coder',
      current_state: null,
      step_name: null,
      balance: null,
      success_rate: 1,
      recent_actions: [],
      last_result: null,
      metadata: { status: 'A' },
      variables: { v: 1 },
    });
    expect(sessionContext(folded({ ...given, balance: 3 } as EventBody)).balance).toBe(3);
  });

  it('is the last ten actions, with the code of what failed', () => {
    const many = Array.from({ length: 11 }, (_, index) => declared(`a${index}`));
    const { recent_actions: recent } = sessionContext(folded(STARTED, TURN, ...many, failed('a10')));
    expect(recent).toHaveLength(10);
    expect(recent[0]).toEqual({ id: 'a1', name: 'shell', status: 'waiting' });
    expect(recent[9]).toEqual({ id: 'a10', name: 'shell', status: 'failed', error: 'tool_failed' });
  });

  it.each([
    ['what succeeded', [declared('a'), done('a')], 1],
    ['what was undone again', [declared('a'), done('a'), compensated], 1],
    ['what failed', [declared('a'), failed('a')], 0],
    ['what was interrupted', [declared('a'), { type: 'action.interrupted', id: 'a', attempt: 1 }], 0],
    ['one of two', [declared('a'), done('a'), declared('b'), failed('b')], 0.5],
    ['what runs', [declared('a'), done('a'), declared('b')], 1],
    ['what was cancelled', [declared('b'), { type: 'action.cancelled', id: 'b', reason: 'x' }], 1],
    ['what was skipped', [declared('b'), { type: 'action.skipped', id: 'b', reason: 'if' }], 1],
  ] as [string, readonly EventBody[], number][])(
    'counts in its rate of success: %s',
    (_what, events, rate) => {
      expect(sessionContext(folded(STARTED, TURN, ...events)).success_rate).toBe(rate);
    },
  );

  it('is the result of the last action that has one', () => {
    const acts = [
      declared('a'),
      declared('b'),
      declared('c'),
      done('b', 'of b'),
      done('a', 'of a'),
      failed('c'),
    ];
    expect(sessionContext(folded(STARTED, TURN, ...acts)).last_result).toBe('of b');
  });
});
