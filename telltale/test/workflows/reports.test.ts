import { describe, expect, it } from 'vitest';
import type { ApprovalState, GuidedState } from '../../src/log/run-state.ts';
import { decideReport, lastReported, type Reported } from '../../src/workflows/guided/judge-report.ts';
import type { Verifier } from '../../src/workflows/guided/verify/verify-work.ts';

type Verdict = GuidedState['verdicts'][number];

const verdict = (nth: number, assessment: Verdict['assessment'], more: Partial<Verdict> = {}): Verdict =>
  ({ nth, assessment, reasoning: `why ${nth}`, by: 'verifier', ...more }) as Verdict;
const answered = (nth: number, choice: string, more: Partial<ApprovalState> = {}): ApprovalState =>
  ({ nth, choice, answer: 'approved', by: 'ada', ...more }) as ApprovalState;
const verifier = (more: Partial<Verifier> = {}): Verifier =>
  ({ when: 'completion', max_retries: 2, ...more }) as Verifier;
const logOf = (
  verdicts: readonly Verdict[],
  reviews: readonly ApprovalState[] = [],
  more: Partial<Record<'claims' | 'stuck', readonly number[]>> = {},
) => ({
  guided: {
    verdicts,
    claims: (more.claims ?? verdicts.map(({ nth }) => nth)).map((nth) => ({ nth })),
    stuck: (more.stuck ?? []).map((nth) => ({ nth, why: 'why' })),
  } as unknown as GuidedState,
  reviews,
});

const claimed = (nth: number): Reported => ({ kind: 'claimed', nth });
const turn = (nth: number): Reported => ({ kind: 'turn', nth });
const stuck: Reported = { kind: 'stuck', nth: 1, why: 'it reads the same file.' };

describe('a claim', () => {
  it('is taken where nobody verifies, and is else verified once', () => {
    expect(decideReport(claimed(1), undefined, logOf([]))).toEqual({ kind: 'pass' });
    expect(decideReport(claimed(1), verifier(), logOf([]))).toEqual({ kind: 'verify' });
    expect(decideReport(claimed(2), verifier(), logOf([verdict(1, 'pass')]))).toEqual({ kind: 'verify' });
    expect(decideReport(claimed(1), verifier(), logOf([verdict(1, 'pass')]))).toEqual({ kind: 'pass' });
  });

  it('is to be made again as the verifier says, as often as it may, and then a person decides', () => {
    const retries = [1, 2, 3].map((nth) => verdict(nth, 'retry', { instruction: `do ${nth}` }));
    const after = (count: number) => decideReport(claimed(count), verifier(), logOf(retries.slice(0, count)));
    expect(after(1)).toEqual({ kind: 'again', text: 'do 1', by: 'verifier' });
    expect(after(2)).toEqual({ kind: 'again', text: 'do 2', by: 'verifier' });
    expect(after(3)).toEqual({
      kind: 'ask',
      because: 'The agent and the verifier disagree, after 2 more tries.',
    });
    const none = decideReport(claimed(1), verifier({ max_retries: 0 }), logOf([verdict(1, 'retry')]));
    expect(none).toEqual({ kind: 'ask', because: 'The agent and the verifier disagree.' });
    const one = [verdict(1, 'retry'), verdict(2, 'retry')];
    expect(decideReport(claimed(2), verifier({ max_retries: 1 }), logOf(one))).toMatchObject({
      because: 'The agent and the verifier disagree, after 1 more try.',
    });
  });

  it('is to be made again with the reasoning where there is no instruction', () => {
    expect(decideReport(claimed(1), verifier(), logOf([verdict(1, 'retry')]))).toMatchObject({
      text: 'why 1',
    });
  });

  it('is put to a person where the verifier says so, or has nothing to say', () => {
    expect(decideReport(claimed(1), verifier(), logOf([verdict(1, 'escalate')]))).toEqual({
      kind: 'ask',
      because: 'The verifier asks for a person.',
    });
    const silent = verdict(1, 'escalate', { fallback: 'timeout' });
    expect(decideReport(claimed(1), verifier(), logOf([silent]))).toEqual({
      kind: 'ask',
      because: 'The verifier gave no verdict: timeout',
    });
  });

  it('is as the person says, whatever the verifier said', () => {
    const log = (choice: string, more: Partial<ApprovalState> = {}) =>
      logOf([verdict(1, 'retry', { instruction: 'as before' })], [answered(1, choice, more)]);
    expect(decideReport(claimed(1), verifier(), log('pass'))).toEqual({ kind: 'pass' });
    expect(decideReport(claimed(1), verifier(), log('retry', { note: 'like so' }))).toEqual({
      kind: 'again',
      text: 'like so',
      by: 'ada',
    });
    expect(decideReport(claimed(1), verifier(), log('retry'))).toMatchObject({ text: 'as before' });
    expect(decideReport(claimed(1), verifier(), log('fail', { note: 'enough' }))).toEqual({
      kind: 'fail',
      by: 'ada',
      note: 'enough',
    });
    expect(decideReport(claimed(1), verifier(), log('fail'))).toEqual({ kind: 'fail', by: 'ada' });
    const bare = logOf([], [answered(1, 'retry')]);
    expect(decideReport(claimed(1), verifier(), bare)).toMatchObject({ text: 'Do it again.' });
  });

  it('is not settled by a question that was withdrawn, is open, or was about another', () => {
    const log = (review: ApprovalState) => logOf([verdict(1, 'escalate')], [review]);
    for (const review of [
      answered(1, 'withdrawn', { answer: 'withdrawn' }),
      { nth: 1 } as ApprovalState,
      answered(2, 'pass'),
    ])
      expect(decideReport(claimed(1), verifier(), log(review))).toMatchObject({ kind: 'ask' });
  });

  it('has one more try after a person has had a say, and then they are asked again', () => {
    const verdicts = [1, 2, 3].map((nth) => verdict(nth, 'retry'));
    const reviews = [answered(1, 'retry')];
    const after = (count: number) =>
      decideReport(claimed(count), verifier(), logOf(verdicts.slice(0, count), reviews));
    expect(after(2)).toMatchObject({ kind: 'again' });
    expect(after(3)).toMatchObject({ kind: 'ask' });
    const strict = verifier({ max_retries: 0 });
    expect(decideReport(claimed(2), strict, logOf(verdicts.slice(0, 2), reviews))).toMatchObject({
      kind: 'ask',
    });
  });

  it('is not counted by what a person said of an agent that was stuck', () => {
    const verdicts = [verdict(2, 'retry'), verdict(3, 'retry')];
    const log = logOf(verdicts, [answered(1, 'retry')], { claims: [2, 3], stuck: [1] });
    expect(decideReport(claimed(3), verifier(), log)).toMatchObject({ kind: 'again' });
  });
});

describe('a turn', () => {
  it('goes on unless turns are verified', () => {
    expect(decideReport(turn(1), verifier(), logOf([]))).toEqual({ kind: 'pass' });
    expect(decideReport(turn(1), verifier({ when: 'turn' }), logOf([]))).toEqual({ kind: 'verify' });
  });

  it('is counted by itself, and from the last one that passed', () => {
    const each = verifier({ when: 'turn', max_retries: 1 });
    const of = (claims: readonly number[], ...all: readonly Verdict['assessment'][]) => {
      const verdicts = all.map((assessment, at) => verdict(at + 1, assessment));
      return decideReport(turn(all.length), each, logOf(verdicts, [], { claims })).kind;
    };
    expect(of([], 'retry')).toBe('again');
    expect(of([], 'retry', 'retry')).toBe('ask');
    expect(of([], 'retry', 'pass', 'retry')).toBe('again');
    expect(of([1], 'retry', 'retry')).toBe('again'); // the first was a claim
    const claims = [verdict(1, 'retry'), verdict(2, 'retry')];
    expect(decideReport(claimed(2), each, logOf(claims, [], { claims: [2] })).kind).toBe('again');
  });
});

describe('an agent that is stuck', () => {
  it('is put to a person, who may have it go on or fail it, and not pass what was not claimed', () => {
    expect(decideReport(stuck, verifier(), logOf([]))).toEqual({
      kind: 'ask',
      because: 'The agent comes no further: it reads the same file.',
    });
    const said = (choice: string) => decideReport(stuck, verifier(), logOf([], [answered(1, choice)]));
    expect(said('retry')).toEqual({ kind: 'again', text: 'Do it again.', by: 'ada' });
    expect(said('fail')).toEqual({ kind: 'fail', by: 'ada' });
    expect(said('pass')).toEqual({ kind: 'fail', by: 'ada' });
  });
});

describe('the last report on the log', () => {
  const last = (claims: readonly number[], halts: readonly number[], verdicts: readonly number[]) =>
    lastReported(
      logOf(
        verdicts.map((nth) => verdict(nth, 'pass')),
        [],
        { claims, stuck: halts },
      ).guided,
    );

  it('is a claim, a halt or a turn, whichever came last', () => {
    expect(last([], [], [])).toBeUndefined();
    expect(last([1, 3], [2], [1])).toEqual({ kind: 'claimed', nth: 3 });
    expect(last([1], [2], [1])).toEqual({ kind: 'stuck', nth: 2, why: 'why' });
    expect(last([1], [], [1, 2])).toEqual({ kind: 'turn', nth: 2 });
  });
});
