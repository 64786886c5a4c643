import { describe, expect, it } from 'vitest';
import { exitCode } from '../../../bench/agents/verdict.ts';
import { judgeFeeds } from '../../../bench/feeds/feed-targets.ts';
import type { MixFigures } from '../../../bench/feeds/turn-costs.ts';
import { agreement } from '../../../bench/memory/agreement.ts';
import { judgeTokens } from '../../../bench/memory/token-targets.ts';

const mix = (kind: MixFigures['kind'], feeds: number, ratio: number): MixFigures => ({
  kind,
  name: kind,
  feeds,
  ratio,
  turnUs: 70,
  startMs: 1,
  heapKb: 40,
});
const feeds = (plain: number, changing: number) =>
  exitCode(
    judgeFeeds([
      mix('none', 0, 1),
      mix('unused', 1000, plain),
      mix('unused', 10, 2),
      mix('unused, metadata changes', 1000, changing),
      mix('unchanged', 1000, 5),
    ]),
    false,
  );

describe('feeds that are not used', () => {
  it('may make a turn a tenth dearer and no more, whether it changes the metadata or not', () => {
    expect(feeds(1.1, 1.1)).toBe(0);
    expect(feeds(1.11, 1)).toBe(1);
    expect(feeds(1, 1.11)).toBe(1);
  });

  it('that were not measured are a miss', () => {
    expect(exitCode(judgeFeeds([mix('none', 0, 1)]), false)).toBe(1);
  });
});

const NAMED = { isDefined: true, calls: 100, callers: 97, lines: 50 };
const tokens = (fileTokens: number, change: Partial<typeof NAMED> = {}) => {
  const asked = { name: 'f', path: 'a.ts', graphTokens: 100, grepTokens: 100, files: 3 };
  return exitCode(judgeTokens([{ ...asked, ...NAMED, fileTokens }], [{ ...NAMED, ...change }]), false);
};

describe('a question to the graph', () => {
  it('has to take ten times fewer tokens than the files that grep names', () => {
    expect(tokens(1000)).toBe(0);
    expect(tokens(999)).toBe(1);
  });

  it('counts only where it is right about the definition and nearly all callers', () => {
    expect(tokens(5000, { callers: 96 })).toBe(1);
    expect(tokens(5000, { isDefined: false })).toBe(1);
  });

  it('is right where it names the line of a call, or the caller of one', () => {
    const calls = [
      { path: 'b.ts', line: 3, within: ['g'] },
      { path: 'b.ts', line: 9, within: ['inner', 'g'] },
      { path: 'b.ts', line: 20, within: ['h'] },
      { path: 'c.ts', line: 1, within: [] },
      { path: 'd.ts', line: 1, within: [] },
    ];
    const answer = [
      '**f** function a.ts:7',
      '- called by b.ts:3 in B.g: `f()`',
      '- called by c.ts:1',
      '',
      '**f** function z.ts:7',
      '- called by d.ts:1',
    ].join('\n');
    const asked = { name: 'f', path: 'a.ts', line: 7, calls };
    expect(agreement(asked, answer)).toEqual({ isDefined: true, calls: 5, callers: 3, lines: 2 });
    expect(agreement({ ...asked, line: 8 }, answer)).toMatchObject({ isDefined: false, callers: 0 });
  });
});
