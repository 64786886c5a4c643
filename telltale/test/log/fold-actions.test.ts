import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/log/event.ts';
import { hookedInput } from '../../src/log/hook-marks.ts';
import { openReviews, reviewOf, voidedReviewOf } from '../../src/log/reviews.ts';
import {
  begun,
  createFolding,
  declared,
  done,
  FOREACH,
  failed,
  failure,
  folded,
  STARTED,
  TURN,
} from './fold-bodies.ts';

const retrying = (id: string): EventBody => ({
  type: 'action.retrying',
  id,
  attempt: 1,
  error: failure('busy'),
  delay_ms: 5,
});
const cancelled = (id: string): EventBody => ({ type: 'action.cancelled', id, reason: 'Enough.' });

describe('an action', () => {
  it('is what its last event says of it', () => {
    const log = createFolding();
    const action = () => log.state.actions.get('a');
    log.fold(STARTED, TURN, declared('a'));
    expect(action()).toMatchObject({ turn: 1, status: 'waiting', attempts: 0 });
    log.fold({ type: 'action.started', id: 'a', attempt: 2, input: { p: 1 } });
    expect(action()).toMatchObject({ status: 'running', attempts: 2, input: { p: 1 } });
    expect([...log.state.open]).toEqual(['a']);
    log.fold(retrying('a'));
    expect(action()).toMatchObject({ status: 'waiting' });
    log.fold(done('a', 'out'));
    expect(action()).toMatchObject({ status: 'completed', output: 'out', attempts: 2, ms: 7 });
    expect([...log.state.open]).toEqual([]);
    log.fold({ type: 'action.compensated', id: 'a', by: 'b' });
    expect(action()).toMatchObject({ status: 'compensated' });
  });

  it.each([
    ['failed', failed('a'), { error: failure('tool_failed'), attempts: 2, ms: 7 }],
    ['skipped', { type: 'action.skipped', id: 'a', reason: 'if' }, { skipped: { reason: 'if' } }],
    [
      'skipped',
      { type: 'action.skipped', id: 'a', reason: 'dependency', because: 'b' },
      { skipped: { reason: 'dependency', because: 'b' } },
    ],
    ['cancelled', cancelled('a'), { error: { code: 'cancelled', message: 'Enough.', retryable: false } }],
    ['interrupted', { type: 'action.interrupted', id: 'a', attempt: 2 }, { attempts: 2 }],
  ] as [string, EventBody, object][])('that was %s says how', (status, end, more) => {
    const { actions, open, news } = folded(STARTED, TURN, declared('a'), end);
    expect(actions.get('a')).toMatchObject({ status, ...more });
    expect(open.size).toBe(0);
    expect(news.results).toEqual(['a']);
  });

  it('that nobody declared changes nothing but the place on the log', () => {
    const log = createFolding();
    log.fold(STARTED, TURN);
    const { seq: _, at: __, ...before } = structuredClone(log.state);
    log.fold(begun('x'), done('x'), failed('x'), retrying('x'), {
      type: 'action.compensated',
      id: 'x',
      by: 'b',
    });
    const { seq, at: ___, ...after } = structuredClone(log.state);
    expect(after).toEqual(before);
    expect(seq).toBe(7);
  });

  it('is no news where nobody waits for it, nor a <foreach> that ran; one that did not run is', () => {
    const { news } = folded(
      STARTED,
      TURN,
      declared('a', { mode: 'fire_and_forget' }),
      done('a'),
      declared('b', FOREACH),
      done('b'),
      declared('c', FOREACH),
      failed('c'),
    );
    expect(news.results).toEqual(['c']);
  });

  it('gives its key to the last one that completed', () => {
    const { outputs } = folded(
      STARTED,
      TURN,
      declared('a', { output_key: 'k' }),
      declared('b', { output_key: 'k' }),
      declared('c', { output_key: 'k' }),
      declared('d'),
      done('a'),
      done('b'),
      failed('c'),
      done('d'),
    );
    expect([...outputs]).toEqual([['k', 'b']]);
  });

  it('is the one of its name as long as there is no other; a <foreach> is of no name', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, declared('a'), declared('b', { name: 'fetch' }), declared('c', FOREACH));
    expect([...log.state.called]).toEqual([
      ['shell', 'a'],
      ['fetch', 'b'],
    ]);
    log.fold(declared('d'), declared('e'));
    expect(log.state.called.get('shell')).toBeUndefined();
    expect(log.state.called.has('shell')).toBe(true);
  });

  it('is among the last hundred that were declared', () => {
    const many = Array.from({ length: 101 }, (_, index) => declared(`a${index}`));
    const { recent } = folded(STARTED, TURN, ...many);
    expect([recent.length, recent[0], recent.at(-1)]).toEqual([100, 'a1', 'a100']);
  });

  it('ends its session with `on_error: fail`: the first that failed, and none that was cancelled', () => {
    const fatal = { on_error: 'fail' } as const;
    const all = [STARTED, TURN, declared('a', fatal), declared('b', fatal), declared('c')];
    expect(folded(...all, cancelled('a'), failed('c')).failing).toBeUndefined();
    expect(folded(...all, failed('c'), failed('b'), failed('a')).failing).toBe('b');
  });
});

describe('what was asked about an action', () => {
  const asked = (review: string, action: string): EventBody => ({
    type: 'review.requested',
    review,
    action,
    target: 'tool "x"',
    what: 'call it',
    because: 'approval: always',
    input: { p: 1 },
    grants: ['call x'],
  });
  const answer = (review: string, said: 'approved' | 'rejected' | 'withdrawn', by = 'ann'): EventBody => ({
    type: 'review.resolved',
    review,
    answer: said,
    by,
  });

  it('is open until the first answer, which counts', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, declared('a'), declared('b'), asked('r1', 'a'), asked('r2', 'b'));
    expect(openReviews(log.state).map(({ review, at }) => [review, at])).toEqual([
      ['r1', 5_000],
      ['r2', 6_000],
    ]);
    log.fold({ ...answer('r1', 'rejected'), note: 'No.' } as EventBody, answer('r1', 'approved', 'bob'));
    expect(openReviews(log.state).map(({ review }) => review)).toEqual(['r2']);
    expect(reviewOf(log.state, 'a')).toMatchObject({ answer: 'rejected', by: 'ann', note: 'No.' });
    expect(reviewOf(log.state, 'b')).not.toHaveProperty('answer');
  });

  it('counts no more once it was withdrawn or is void, of which the last is known', () => {
    const log = createFolding();
    const voided = (review: string): EventBody => ({ type: 'review.voided', review, changed: [review] });
    log.fold(STARTED, TURN, declared('a'), declared('b'), asked('r1', 'a'), answer('r1', 'withdrawn'));
    expect(reviewOf(log.state, 'a')).toBeUndefined();
    expect(voidedReviewOf(log.state, 'a')).toBeUndefined();
    log.fold(asked('r2', 'a'), answer('r2', 'approved'), asked('r9', 'b'), voided('r2'));
    expect(reviewOf(log.state, 'a')).toBeUndefined();
    log.fold(asked('r3', 'a'), answer('r3', 'approved'), voided('r3'), asked('r4', 'a'));
    expect(voidedReviewOf(log.state, 'a')).toMatchObject({ review: 'r3', voided: ['r3'] });
    expect(reviewOf(log.state, 'a')?.review).toBe('r4');
    expect(reviewOf(log.state, 'b')).not.toHaveProperty('voided');
  });

  it('is forgotten when the action has ended, and nothing of another', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, declared('a'), declared('b'), asked('r1', 'a'), asked('r2', 'b'), done('a'));
    expect(log.state.reviews.map(({ review }) => review)).toEqual(['r2']);
  });
});

describe('what hooks made of an action', () => {
  const asked = (more: object): EventBody =>
    ({
      type: 'hook.ran',
      hook: 'before_action',
      of: 'agent',
      index: 0,
      by: 'gate',
      ms: 1,
      action: 'a',
      outcome: 'passed',
      reason: 'So.',
      ...more,
    }) as EventBody;

  it('is known until it has ended: what it is called with, and why it may not be', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, declared('a'), declared('b'));
    log.fold(asked({ input: { p: 1 } }), asked({ index: 1, input: { p: 2 } }), asked({ index: 2 }));
    log.fold(asked({ action: 'b', input: { p: 9 }, outcome: 'refused' }));
    expect(hookedInput(log.state.hooks, 'a')).toEqual({ p: 2 });
    expect(hookedInput(log.state.hooks, 'c')).toBeUndefined();
    expect(log.state.hooks.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined, 'So.']);
    log.fold(done('a'));
    expect(log.state.hooks.map(({ action }) => action)).toEqual(['b']);
  });

  it('of its failure is known beyond its end: whoever was told is not told again', () => {
    const { hooks } = folded(STARTED, TURN, declared('a'), asked({ hook: 'on_error' }), failed('a'));
    expect(hooks).toMatchObject([{ hook: 'on_error', action: 'a' }]);
  });

  it('of its result is on the log with that, and is not marked', () => {
    expect(folded(STARTED, TURN, declared('a'), asked({ hook: 'after_action' })).hooks).toEqual([]);
  });
});

describe('a sub-agent', () => {
  const child = (seq: number, session = 'ses_a') => ({ session, seq });
  const TURN_COPY = { usage: { input: 3, output: 2 }, cost_usd: 0.25 };
  const turn = (action: string, seq: number): EventBody => ({
    type: 'child.turn.completed',
    action,
    child: child(seq),
    event: { ...TURN_COPY, ms: 1, first_token_ms: 1, finish: 'stop' },
  });
  const called = { kind: 'agent', name: 'helper' } as const;

  it('counts as if its caller had used it, and says how far its log is here', () => {
    const { totals, children, childTurns } = folded(
      STARTED,
      TURN,
      declared('a', called),
      turn('a', 4),
      { type: 'child.turn.failed', action: 'a', child: child(6), event: { error: failure('x') } },
      {
        type: 'child.turn.failed',
        action: 'a',
        child: child(7),
        event: { error: failure('x'), ...TURN_COPY },
      },
      { type: 'child.thought', action: 'a', child: child(9), event: { text: 'Hm.', depth: 0 } },
    );
    expect(totals).toMatchObject({ input: 6, output: 4, cost_usd: 0.5, turns: 0 });
    expect(children).toEqual([{ action: 'a', tries: 0, session: 'ses_a', seq: 9 }]);
    expect(childTurns).toEqual([{ agent: 'helper', turns: 1 }]);
  });

  it('is counted by name, whichever action called it', () => {
    const other = { kind: 'agent', name: 'other' } as const;
    const { childTurns } = folded(
      STARTED,
      TURN,
      declared('a', called),
      declared('b', called),
      declared('c', other),
      turn('a', 1),
      turn('c', 1),
      turn('b', 1),
      turn('unknown', 1),
    );
    expect(childTurns).toEqual([
      { agent: 'other', turns: 1 },
      { agent: 'helper', turns: 2 },
    ]);
  });

  it('takes what it is charged from the balance of its caller, where that has one', () => {
    const charged: EventBody = { type: 'child.usage', action: 'a', child: child(1), charged: 3 };
    const used = {
      type: 'child.usage',
      action: 'a',
      child: child(2),
      usage: { input: 1, output: 1 },
    } as const;
    const state = folded({ ...STARTED, balance: 10 } as EventBody, declared('a', called), charged, used);
    expect(state).toMatchObject({ balance: 7, totals: { input: 1, output: 1, cost_usd: 0 } });
    expect(folded(STARTED, declared('a', called), charged).balance).toBeUndefined();
  });

  it('that outlives its action still costs, and has no place here any more', () => {
    const { totals, children } = folded(
      STARTED,
      declared('a', called),
      turn('a', 1),
      done('a'),
      turn('a', 2),
    );
    expect(children).toEqual([]);
    expect(totals.input).toBe(6);
  });

  it('is another session at the next try, of a workflow, too; a tool has none', () => {
    const tries = (kind: 'agent' | 'workflow' | 'tool') =>
      folded(STARTED, declared('a', { kind }), declared('b', called), turn('a', 5), retrying('a')).children;
    expect(tries('agent')).toEqual([{ action: 'a', tries: 1, session: '', seq: 0 }]);
    expect(tries('workflow')).toEqual([{ action: 'a', tries: 1, session: '', seq: 0 }]);
    expect(tries('tool')).toEqual([{ action: 'a', tries: 0, session: 'ses_a', seq: 5 }]);
  });

  it('is forgotten with its action, and no other with it', () => {
    const both = [STARTED, declared('a', called), declared('b', called), turn('a', 1), turn('b', 1)];
    expect(folded(...both, done('a')).children.map(({ action }) => action)).toEqual(['b']);
  });
});
