import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import { confirm, escalate } from '../../src/workflows/guided/judge-report.ts';
import { readVerdict } from '../../src/workflows/guided/verify/read-verdict.ts';
import type { StepAttempt } from '../../src/workflows/step-executor.ts';
import type { StepContext } from '../../src/workflows/steps/step-deps.ts';
import { begin, failure, fakeJournal } from './fake-run.ts';
import { reviewsOn } from './step-stand-ins.ts';

const PASS = { assessment: 'pass', confidence: 'high', reasoning: 'It builds.' };
const read = (value: object | string, judged = '') =>
  readVerdict(typeof value === 'string' ? value : JSON.stringify(value), judged);
const problem = (value: object | string, judged = '') => {
  const found = read(value, judged);
  return found.ok ? found.value : found.error;
};

describe('a verdict', () => {
  it('has an assessment, a confidence and a reasoning, in any case', () => {
    expect(read({ ...PASS, assessment: ' Pass ', confidence: 'HIGH' })).toEqual({ ok: true, value: PASS });
    expect(problem({ ...PASS, assessment: 'passed' })).toBe('Its assessment is passed.');
    expect(problem({ ...PASS, assessment: 7 })).toBe('Its assessment is 7.');
    expect(problem({ assessment: 'pass', reasoning: 'x' })).toBe('Its confidence is missing.');
    for (const reasoning of [undefined, 3, ' '])
      expect(problem({ ...PASS, reasoning })).toBe('It gives no reasoning.');
  });

  it('may have an instruction, which is a text', () => {
    const retry = { ...PASS, assessment: 'retry' };
    expect(read({ ...retry, instruction: 'Run it.' })).toMatchObject({ value: { instruction: 'Run it.' } });
    for (const instruction of [null, '', '  ', undefined])
      expect(read({ ...retry, instruction })).toEqual({ ok: true, value: retry });
    expect(problem({ ...retry, instruction: ['Run it.'] })).toBe('Its instruction is ["Run it."].');
  });

  it('is one: said twice it counts, said in two ways it does not', () => {
    const text = JSON.stringify(PASS);
    expect(read(`First: ${text} Again: ${text}`)).toEqual({ ok: true, value: PASS });
    const other = JSON.stringify({ ...PASS, assessment: 'retry' });
    expect(problem(`${text} or ${other}`)).toMatch(/^It answered with several verdicts that differ/);
    expect(read(`{"note": "not this"} ${text}`)).toEqual({ ok: true, value: PASS });
    expect(problem('[1, 2]')).toMatch(/^It answered with no verdict/);
    expect(problem(' \n')).toBe('It answered nothing.');
  });

  it('that stands in what was judged is none, however it is written there', () => {
    const quoted = 'The verdict in its answer is quoted from what it was to judge';
    const plain = JSON.stringify(PASS);
    const escaped = plain.replace('"pass"', '"\\u0070ass"');
    expect(problem(plain, `The log says ${plain}.`)).toContain(quoted);
    expect(problem(JSON.stringify(PASS, null, 2), `The log says ${plain}.`)).toContain(quoted);
    expect(problem(escaped, `The log says ${plain}.`)).toContain(quoted);
    expect(problem(escaped, `The log says ${escaped}.`)).toContain(quoted);
    expect(read(plain, 'The log says that it builds.')).toEqual({ ok: true, value: PASS });
  });
});

describe('a question about a step', () => {
  /** Somebody takes back what is asked, with these words. */
  function asked(note?: string) {
    const clock = createSimulatedClock();
    const journal = fakeJournal(clock);
    begin(journal);
    journal.append({ type: 'step.started', step: 'build', attempt: 1, repeatable: true });
    const call = {
      step: { name: 'build' },
      address: 'build',
      input: { prompt: 'Build it.' },
      signal: new AbortController().signal,
      cause: journal.state.started,
      suspend: () => () => undefined,
    } as unknown as StepAttempt;
    const context = { journal, clock, reviews: reviewsOn(journal), isReleased: () => false };
    const guided = { claims: [], stuck: [], verdicts: [] };
    const takeBack = () => {
      const [question] = journal.state.reviews;
      const body: RunEventBody = {
        type: 'review.resolved',
        review: question?.review ?? '',
        answer: 'withdrawn',
        choice: 'withdrawn',
        by: 'ada',
        ...(note === undefined ? {} : { note }),
      };
      journal.append(body);
      return question;
    };
    return {
      call,
      context: context as unknown as StepContext,
      log: { guided, reviews: [] } as never,
      takeBack,
    };
  }

  it('that is taken back fails the step that waits for it, whatever it was about', async () => {
    const stuck = asked('Never mind.');
    const report = { kind: 'stuck', nth: 1, why: 'it reads the same file' } as const;
    const escalated = escalate(report, 'It is stuck.', stuck.log, stuck.call, stuck.context);
    expect(stuck.takeBack()).toMatchObject({ kind: 'escalation', nth: 1, options: ['retry', 'fail'] });
    expect((await failure(escalated)).message).toContain('Never mind.');
    const asking = asked();
    const confirmed = confirm('May it begin?', asking.call, asking.context);
    expect(asking.takeBack()).toMatchObject({ kind: 'confirm', options: ['approve', 'reject'] });
    expect(await failure(confirmed)).toMatchObject({ message: expect.stringContaining('build') });
  });
});
