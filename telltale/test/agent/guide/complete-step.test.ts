import { describe, expect, it } from 'vitest';
import { whyStuck } from '../../../src/agent/agent-session.ts';
import { createCompleteStep, evidenceProblems, workOf } from '../../../src/agent/guided/complete-step.ts';
import type { RuntimeError } from '../../../src/lib/errors.ts';
import type { EventBody } from '../../../src/log/event.ts';
import { begun, declared, done, FOREACH, failed, TURN } from '../../log/fold-bodies.ts';
import { acted, createLedLog, NOTES } from './led-log.ts';

const STEP = { kind: 'internal', name: 'complete_step' } as const;

describe('the proof of a step', () => {
  const judged = (named: readonly string[], evidence: readonly string[] = []) => {
    const { state, fold, task } = createLedLog({ evidence });
    fold(...acted('one'), ...acted('two', 'test'), ...acted('bad', 'test', false), ...acted('last'));
    fold(declared('ends', STEP), done('ends'));
    return evidenceProblems(state, task, named)[0] as RuntimeError | undefined;
  };

  it('is what was done in the step, and succeeded: one of each that is asked for', () => {
    expect(judged([])).toBeUndefined();
    expect(judged(['one', 'two'], ['shell', 'test'])).toBeUndefined();
  });

  it.each([
    ['nothing', ['unknown'], /No action has the id "unknown"/],
    ['what belongs to the step before', ['before'], /"before" \(shell\) was not done in this step/],
    ['what did not succeed', ['one', 'bad'], /"bad" \(test\) did not succeed: it is failed/],
    ['the end of the step itself', ['ends'], /was not done in this step/],
  ])('is not %s', (_what, named, message) => {
    expect(judged(named)).toMatchObject({
      code: 'evidence_refused',
      message: expect.stringMatching(message),
    });
  });

  it('that has a slip in its id is told what is meant, of this step only', () => {
    expect(judged(['onne'])?.hint).toContain('one');
    const { hint } = judged(['zzzzzzzz']) as RuntimeError;
    for (const id of ['one', 'two', 'bad', 'last']) expect(hint).toContain(id);
    for (const id of ['before', 'lost', 'ends']) expect(hint).not.toContain(id);
  });

  it('that is missing is proposed: the last that succeeded in this step', () => {
    expect(judged([], ['shell'])).toMatchObject({
      message: expect.stringContaining('an action of "shell"'),
      hint: expect.stringContaining('["last"]'),
    });
    expect(judged(['one'], ['shell', 'test'])?.hint).toContain('["two"]');
    expect(judged([], ['deploy'])?.hint).toContain('None has succeeded in this step yet');
  });
});

describe('complete_step', () => {
  function stage(given: object = {}) {
    const led = createLedLog(given);
    const waits: { readonly ids: readonly string[]; readonly end: () => void }[] = [];
    const open: string[] = [];
    const scheduler = {
      tracked: () => open,
      whenAllEnded(ids: readonly string[], end: () => void) {
        waits.push({ ids, end });
        return () => undefined;
      },
      waitsForStream: () => false,
    };
    const complete = createCompleteStep(led.log, () => scheduler);
    const control = new AbortController();
    const call = (input: object = { notes: NOTES }) => complete(input as never, 'end', control.signal);
    return { ...led, waits, open, call, control };
  }

  it('looks once at each of those that wait for each other in many ways', async () => {
    const { open, fold, call, waits, control } = stage();
    fold(declared('end', STEP));
    for (let n = 0; n < 60; n++)
      for (const side of ['a', 'b']) {
        fold(declared(`${side}${n}`, { depends_on: n === 0 ? [] : [`a${n - 1}`, `b${n - 1}`] }));
        open.push(`${side}${n}`);
      }
    const called = call();
    await expect.poll(() => waits[0]?.ids.length).toBe(120);
    control.abort(new Error('enough'));
    await expect(called).rejects.toThrow('enough');
  });

  it('puts the claim on the log, with no more than was said', async () => {
    const plain = stage();
    await plain.call({ notes: `  ${NOTES}\n` });
    expect(plain.appended).toEqual([
      { type: 'task.claimed', task: 't', nth: 1, action: 'end', notes: NOTES },
    ]);
    const full = stage({ accepts: { k: {} } });
    full.fold(...acted('one'));
    await full.call({ notes: NOTES, context_updates: { k: 1 }, artifacts: ['x'], evidence: ['one'] });
    expect(full.appended).toMatchObject([{ context_updates: { k: 1 }, artifacts: ['x'], evidence: ['one'] }]);
  });

  it('waits for all that runs and for what that sets off, but not for what waits for itself', async () => {
    const { call, open, waits, fold, appended } = stage();
    fold(declared('end', STEP), declared('a'));
    fold(declared('b', { depends_on: ['end'] }), declared('c', { depends_on: ['a', 'b'] }));
    open.push('end', 'a', 'b', 'c');
    const ended = call();
    expect(waits.map(({ ids }) => ids)).toEqual([['a']]);
    open.splice(1, 1, 'd');
    waits[0]?.end();
    await expect.poll(() => waits.length).toBe(2);
    expect(waits[1]?.ids).toEqual(['d']);
    expect(appended).toEqual([]);
    open.splice(1, 1);
    waits[1]?.end();
    expect(await ended).toBe('Taken.');
  });

  it('ends its wait where it is cancelled, before or meanwhile', async () => {
    for (const isBefore of [true, false]) {
      const { call, open, control, appended } = stage();
      open.push('a');
      if (isBefore) control.abort(new Error('Enough.'));
      const ended = call();
      if (!isBefore) control.abort(new Error('Enough.'));
      await expect(ended).rejects.toThrow('Enough.');
      expect(appended).toEqual([]);
    }
  });

  const over: EventBody = { type: 'task.over', task: 't' };
  const claimed: EventBody = { type: 'task.claimed', task: 't', nth: 1, action: 'x', notes: NOTES };
  it.each([
    ['there is none', over],
    ['it has been completed', claimed],
  ])('is refused where %s, also if that came while it waited', async (_what, event) => {
    const before = stage();
    before.fold(event);
    await expect(before.call()).rejects.toMatchObject({ code: 'no_step' });
    const meanwhile = stage();
    meanwhile.open.push('a');
    const ended = meanwhile.call();
    meanwhile.fold(event);
    meanwhile.open.splice(0);
    meanwhile.waits[0]?.end();
    await expect(ended).rejects.toMatchObject({ code: 'no_step' });
    expect(meanwhile.appended).toEqual([]);
  });

  it.each([
    ['an action of the step failed', acted('a', 'shell', false), /"a" \(shell\) ended as failed/],
    ['a <foreach> did not run', [declared('l', FOREACH), failed('l')], /A <foreach> of yours did not run/],
    ['something did not act', [{ type: 'fault', code: 'bad_json', message: 'x' }], /did not act \(bad_json/],
  ] as [string, readonly EventBody[], RegExp][])(
    'is refused where %s that nobody has seen, and taken once it was seen',
    async (_what, events, message) => {
      const { call, fold } = stage();
      fold(...events);
      await expect(call()).rejects.toMatchObject({
        code: 'step_undone',
        message: expect.stringMatching(message),
      });
      fold(TURN);
      expect(await call()).toBe('Taken.');
    },
  );

  it('is not refused for what failed in the step before, for an earlier try of its own, or for itself', async () => {
    const { call, fold } = stage();
    fold(declared('end', STEP), failed('end'), declared('other', STEP), failed('other'), done('before'));
    expect(await call()).toBe('Taken.');
    const late = createLedLog();
    late.fold(declared('z'), failed('z'), { type: 'task.given', task: 'u', prompt: 'Next.' });
    const complete = createCompleteStep(late.log, () => ({
      tracked: () => [],
      whenAllEnded: () => () => {},
      waitsForStream: () => false,
    }));
    expect(await complete({ notes: NOTES }, 'end', new AbortController().signal)).toBe('Taken.');
  });
});

describe('an agent is stuck', () => {
  const same = (id: string): readonly EventBody[] => [declared(id), begun(id, { p: 1 }), done(id)];

  it('with the third call of the same, and not with the second', () => {
    const { state, task, fold } = createLedLog();
    fold(...same('a'), ...same('b'));
    expect(whyStuck(state, task)).toBeUndefined();
    fold(...same('c'));
    expect(whyStuck(state, task)).toBe(
      'You have called tool "shell" with the same input 3 times in this step.',
    );
  });

  it('with the fifth turn in a row that changes nothing, and not while something still runs', () => {
    const { state, task, fold } = createLedLog();
    fold(TURN, TURN, TURN);
    expect(whyStuck(state, task)).toBeUndefined();
    fold(TURN);
    expect(whyStuck(state, task)).toBe('The last 5 turns of this step have changed nothing.');
    fold(declared('r'));
    expect(whyStuck(state, task)).toBeUndefined();
    fold(done('r'));
    expect(whyStuck(state, task)).toBeUndefined();
  });
});

describe('the work that a verifier is shown', () => {
  it('is the last fifty actions of the step, without its end, long values cut', () => {
    const { state, task, fold } = createLedLog();
    for (let nth = 1; nth <= 51; nth++) fold(...acted(`a${nth}`));
    fold(declared('end', STEP), done('end'));
    const work = workOf(state, task);
    expect([work.length, work[0]?.id, work.at(-1)?.id]).toEqual([50, 'a2', 'a51']);
    expect(work[0]).toEqual({
      id: 'a2',
      name: 'shell',
      status: 'completed',
      input: { of: 'a2' },
      output: 'ok',
    });
    const cut = createLedLog();
    cut.fold(declared('w'), done('w', 'x'.repeat(1_998)), declared('v'), done('v', 'x'.repeat(1_999)));
    cut.fold(...acted('f', 'shell', false), declared('n'));
    const [whole, long, lost, none] = workOf(cut.state, cut.task);
    expect(whole).toMatchObject({ input: {}, output: 'x'.repeat(1_998) });
    expect(long?.output).toMatch(/^"x+… \[1 characters left out\]$/);
    expect(lost).toMatchObject({ status: 'failed', output: { code: 'tool_failed' } });
    expect(none?.output).toBeNull();
  });
});
