import { describe, expect, it } from 'vitest';
import { judgeEarly } from '../../../bench/agents/early-targets.ts';
import { chainLag, type EarlyTurn, idealEnd } from '../../../bench/agents/early-turn.ts';
import { trimmedMean } from '../../../bench/agents/growth.ts';
import { judgeGrowth } from '../../../bench/agents/growth-targets.ts';

/** A chain of three tools of 1 s, each `lag` ms late, closed at 0.8 s in a response of `stream` ms. */
const turn = (lag: number, stream = 4000): EarlyTurn => {
  const tools = [0, 1, 2].map((index) => {
    const from = 800 + index * (1000 + lag) + lag;
    return { from, to: from + 1000 };
  });
  return { closedAt: 800, tools, streamEndedAt: stream, endedAt: Math.max(stream, tools[2]!.to) + lag };
};
const deciding = (verdicts: ReturnType<typeof judgeEarly>) =>
  verdicts.filter(({ decides }) => decides).map(({ met }) => met);

describe('the ideal', () => {
  it('ends with the stream where the tools end before it', () => {
    expect(idealEnd(turn(1))).toBe(4000);
  });

  it('ends with the chain where the stream ends before it', () => {
    expect(idealEnd(turn(1, 2000))).toBe(3800);
  });

  it('takes the tools at the length they had, so that a slow timer is not held against the runtime', () => {
    const slow = { ...turn(0, 2000), tools: [{ from: 800, to: 1900 }] };
    expect(idealEnd(slow)).toBe(2000);
    expect(chainLag(slow)).toBe(0);
    expect(chainLag(turn(2))).toBe(6);
  });
});

describe('the verdict on early actions', () => {
  it('is good for a start 0.5 ms after a bare commit and a turn 5 ms late', () => {
    const start = { starts: [2.5], commits: [2] };
    expect(deciding(judgeEarly({ start, turns: [{ chain: 3, taken: [turn(5)] }] }))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('is bad for a start 0.6 ms after a bare commit and a turn 5.5 ms late', () => {
    const start = { starts: [2.6], commits: [2] };
    expect(deciding(judgeEarly({ start, turns: [{ chain: 3, taken: [turn(5.5)] }] }))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('looks at the slowest start in a hundred, not at the usual one', () => {
    const starts = [...Array.from({ length: 98 }, () => 1), 9, 9];
    expect(deciding(judgeEarly({ start: { starts, commits: [1] } }))).toEqual([false]);
  });

  it('is bad for tools that begin when the response has ended, in half of the runs or more', () => {
    const { closedAt, streamEndedAt, endedAt } = turn(0);
    const late = { closedAt, streamEndedAt, endedAt: endedAt + 1000, tools: [{ from: 4000, to: 5000 }] };
    expect(deciding(judgeEarly({ turns: [{ chain: 1, taken: [late] }] }))).toEqual([false, false]);
    expect(deciding(judgeEarly({ turns: [{ chain: 3, taken: [turn(0), late] }] }))[1]).toBe(false);
    expect(deciding(judgeEarly({ turns: [{ chain: 3, taken: [turn(0), turn(0), late] }] }))[1]).toBe(true);
  });
});

describe('the cost of a stretch', () => {
  it('leaves out the dearest fifth of its samples and no more', () => {
    expect(trimmedMean([900, 1, 2, 3, 4])).toBe(2.5);
    expect(trimmedMean([900, 900, 1, 2, 3])).toBeGreaterThan(200);
    expect(trimmedMean([7])).toBe(7);
  });
});

describe('the verdict on growth', () => {
  const stretches = (last: number) =>
    [900, 100, 100, last].map((cpuUs, index) => ({ turn: (index + 1) * 1000, cpuUs, heapMb: 50 }));
  const recovery = (events: number, cpuMs: number) => [{ turns: 1, events, cpuMs, wallMs: cpuMs }];

  it('compares the last stretch with the second, not with the first, which pays for compiling', () => {
    expect(judgeGrowth({ stretches: stretches(110), recoveries: [] })).toMatchObject([{ met: true }]);
    expect(judgeGrowth({ stretches: stretches(111), recoveries: [] })).toMatchObject([{ met: false }]);
  });

  it('takes a recovery for linear up to one and a half times the cost of an event, and for worse above', () => {
    const judged = (cpuMs: number) =>
      judgeGrowth({ stretches: [], recoveries: [recovery(1000, 10), recovery(16_000, cpuMs)] });
    expect(judged(240)).toMatchObject([{ met: true }]);
    expect(judged(241)).toMatchObject([{ met: false }]);
    expect(judged(2560)).toMatchObject([{ met: false }]);
  });
});
