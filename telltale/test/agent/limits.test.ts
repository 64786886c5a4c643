import { describe, expect, it } from 'vitest';
import { limitsBelow } from '../../src/agent/children/child-lineage.ts';
import { elapsedMs, reachedLimit } from '../../src/agent/limits.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';

const used = (
  given: Omit<Partial<SessionState>, 'totals'> & { readonly totals?: Partial<SessionState['totals']> },
) => {
  const state = emptyState();
  return {
    ...state,
    id: 'ses_a',
    agent: 'coder',
    ...given,
    totals: { ...state.totals, ...given.totals },
  } as SessionState;
};
const TURNS = { turns: 100 };
const reached = (state: SessionState, limits: object, now = 0) =>
  reachedLimit(state, { ...TURNS, ...limits } as never, now)?.code;

describe('a limit of a session', () => {
  it.each([
    ['limit_turns', { turns: 2 }, { turns: 1 }, { turns: 2 }],
    ['limit_tokens', { tokens: 10 }, { input: 4, output: 5 }, { input: 5, output: 5 }],
    ['limit_cost_usd', { cost_usd: 0.5 }, { cost_usd: 0.49 }, { cost_usd: 0.5 }],
  ])('is reached with the last that it allows: %s', (code, limits, before, at) => {
    expect(reached(used({ totals: before }), limits)).toBeUndefined();
    expect(reached(used({ totals: at }), limits)).toBe(code);
  });

  it('of time does not count the time in which nobody worked on it', () => {
    const state = used({ startedAt: 1_000, downMs: 500 });
    const limits = { wall: { ms: 2_000 } };
    expect(reached(state, limits, 3_499)).toBeUndefined();
    expect(reached(state, limits, 3_500)).toBe('limit_wall');
    expect(elapsedMs(state, 0)).toBe(0);
  });

  it('of turns is what the session was given, and counts from the exchange in hand', () => {
    expect(reached(used({ maxTurns: 3, totals: { turns: 2 } }), { turns: 2 })).toBeUndefined();
    expect(reached(used({ turnsBefore: 5, totals: { turns: 6 } }), { turns: 2 })).toBeUndefined();
    expect(reached(used({ turnsBefore: 5, totals: { turns: 7 } }), { turns: 2 })).toBe('limit_turns');
  });

  it('of its balance is nothing left', () => {
    expect(reached(used({ balance: 1 }), {})).toBeUndefined();
    expect(reached(used({ balance: 0 }), {})).toBe('limit_budget');
    expect(reached(used({}), {})).toBeUndefined();
  });

  it.each([
    ['turns', { turns: 1 }, 'its limit of 1 turn.', '--max-turns 2'],
    ['turns', { turns: 2 }, 'its limit of 2 turns.', '--max-turns 4'],
    ['tokens', { tokens: 10 }, '10 tokens (15 used)', '"limits.tokens"'],
    ['cost', { cost_usd: 0.5 }, '$0.5 ($0.7500 spent)', '"limits.cost_usd"'],
    ['time', { wall: { ms: 2_500 } }, '2.5 s', '"limits.wall"'],
  ])('says what was used, and how it is raised: %s', (_what, limits, message, hint) => {
    const state = used({ totals: { turns: 2, input: 10, output: 5, cost_usd: 0.75 } });
    expect(reachedLimit(state, { ...TURNS, ...limits } as never, 9_000)).toMatchObject({
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  it('of turns of a sub-agent is raised in its manifest: nobody resumes it by itself', () => {
    const parent = { session: 'ses_b', action: 'a', agents: ['boss'] };
    const error = reachedLimit(used({ parent, totals: { turns: 2 } }), { turns: 2 } as never, 0);
    expect(error?.hint).toContain('"limits.turns" in the manifest of the agent');
  });
});

describe('a limit that a session shares with those that it calls', () => {
  const below = (state: SessionState, limits: object, above?: ReturnType<typeof limitsBelow>) => {
    const flushed: string[] = [];
    const log = { state, flushed: async () => void flushed.push(state.id) };
    return { ...limitsBelow({ limits } as never, log as never, above), flushed };
  };

  it.each([
    ['limit_budget', { balance: 1 }, { balance: 0 }, {}],
    [
      'limit_tokens',
      { totals: { input: 4, output: 5 } },
      { totals: { input: 5, output: 5 } },
      { tokens: 10 },
    ],
    ['limit_cost_usd', { totals: { cost_usd: 0.4 } }, { totals: { cost_usd: 0.5 } }, { cost_usd: 0.5 }],
  ] as [string, object, object, object][])(
    'is asked for before each of their turns: %s',
    (code, before, at, limits) => {
      expect(below(used(before), limits).isBounded).toBe(true);
      expect(below(used(before), limits).reached()).toBeUndefined();
      expect(below(used(at), limits).reached()).toMatchObject({
        code,
        message: expect.stringContaining('"coder" (ses_a)'),
        hint: expect.stringContaining('"coder"'),
      });
    },
  );

  it('may be that of one further up, which counts once all between is on the logs', async () => {
    const top = below(used({ id: 'ses_top', totals: { input: 9, output: 9 } }), { tokens: 10 });
    const middle = below(used({ id: 'ses_middle' }), {}, top);
    const lowest = below(used({ id: 'ses_lowest' }), {}, middle);
    expect([middle.isBounded, lowest.isBounded]).toEqual([true, true]);
    expect(lowest.reached()).toMatchObject({
      code: 'limit_tokens',
      message: expect.stringContaining('ses_top'),
    });
    await lowest.counted();
    expect([lowest.flushed, middle.flushed, top.flushed]).toEqual([['ses_lowest'], ['ses_middle'], []]);
  });

  it('is none where nobody above has one: then nothing is waited for', async () => {
    const top = below(used({ id: 'ses_top' }), {});
    const lowest = below(used({}), {}, top);
    expect([top.isBounded, lowest.isBounded, lowest.reached()]).toEqual([false, false, undefined]);
    await lowest.counted();
    expect(lowest.flushed).toEqual([]);
  });
});
