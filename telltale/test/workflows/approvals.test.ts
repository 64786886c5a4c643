import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import type { Target, TargetCall } from '../../src/tools/target.ts';
import { failure } from './fake-run.ts';
import { settled, stepStage } from './step-stage.ts';

const given = stepStage();
const HOUR_MS = 3_600_000;

const approval = (more: object = {}) => ({
  steps: [{ name: 'ok', type: 'approval', prompt: 'Ship it?', ...more }],
});

/** The process dies where it stands, and another takes the run up. */
async function crash(run: Awaited<ReturnType<typeof given>>, step: { stop(): void; result: Promise<Json> }) {
  const takeUp = run.restart();
  step.stop();
  await step.result.catch(() => undefined);
  takeUp();
}

describe('an approval', () => {
  it('that nobody answers may be rejected by that, which then fails it', async () => {
    const run = await given(approval({ timeout: '1h', on_timeout: 'reject' }));
    const doing = await run.begin('ok');
    await run.clock.advance(HOUR_MS);
    const error = await failure(doing.result);
    expect(error).toMatchObject({ code: 'rejected', message: 'Step "ok" was rejected by timeout.' });
    expect(run.typed('review.resolved')).toMatchObject([
      { answer: 'rejected', choice: 'reject', by: 'timeout' },
    ]);
  });

  it('says how long nobody answered, and may be asked again', async () => {
    const run = await given(approval({ timeout: '1h' }));
    const doing = await run.begin('ok');
    await run.clock.advance(HOUR_MS);
    expect(await failure(doing.result)).toMatchObject({
      code: 'timeout',
      message: 'Nobody answered step "ok" within 3600 s.',
      retryable: true,
    });
  });

  it.each([
    ['approve', { choice: 'approve', by: 'timeout' }],
    ['fail', 'timeout'],
  ] as const)('whose time was up (%s) when the process died is not asked again', async (on_timeout, end) => {
    const run = await given(approval({ timeout: '1h', on_timeout }));
    const doing = await run.begin('ok');
    await run.clock.advance(HOUR_MS - 1);
    const [asked] = run.typed('review.requested');
    run.journal.append({
      type: 'review.resolved',
      review: asked?.review ?? '',
      by: 'timeout',
      ...(on_timeout === 'fail'
        ? { answer: 'withdrawn', choice: 'fail' }
        : { answer: 'approved', choice: 'approve' }),
    });
    await crash(run, doing);
    const again = await run.begin('ok');
    const found = typeof end === 'string' ? (await failure(again.result)).code : await again.result;
    expect(found).toEqual(end);
    expect([run.typed('review.requested'), run.typed('review.resolved')]).toMatchObject([[{}], [{}]]);
  });

  it('that somebody takes back is cancelled, with what they said', async () => {
    for (const [note, message] of [
      ['Not needed.', 'The question of step "ok" was withdrawn: Not needed.'],
      [undefined, 'The question of step "ok" was withdrawn.'],
    ] as const) {
      const run = await given(approval());
      const doing = await run.begin('ok');
      run.journal.append({
        type: 'review.resolved',
        review: run.typed('review.requested')[0]?.review ?? '',
        answer: 'withdrawn',
        choice: 'withdrawn',
        by: 'ada',
        ...(note === undefined ? {} : { note }),
      });
      expect(await failure(doing.result)).toMatchObject({ code: 'cancelled', message });
    }
  });

  it('that the runtime took back is put again by whoever takes the step up', async () => {
    const run = await given(approval());
    const doing = await run.begin('ok');
    doing.stop();
    await failure(doing.result);
    expect(run.typed('review.resolved')).toMatchObject([
      { answer: 'withdrawn', choice: 'withdrawn', by: 'runtime', note: expect.stringContaining('cancelled') },
    ]);
    const again = await run.begin('ok');
    expect(run.typed('review.requested')).toHaveLength(2);
    run.answer('approve');
    expect(await again.result).toEqual({ choice: 'approve', by: 'ada' });
  });

  it('with options of its own is refused by whoever chooses none of them', async () => {
    const run = await given(approval({ options: ['ship', 'hold'] }));
    const doing = await run.begin('ok');
    run.answer('reject', 'rejected', 'no');
    expect((await failure(doing.result)).message).toBe('Step "ok" was rejected by ada: no');
  });

  it('beside another is a question of its own, though they ask the same, and is late by itself', async () => {
    const asking = { type: 'approval', prompt: 'Ship it?' };
    const run = await given({
      steps: [
        { ...asking, name: 'patient' },
        { ...asking, name: 'hasty', timeout: '1h', on_timeout: 'approve' },
      ],
    });
    const patient = await run.begin('patient');
    const hasty = await run.begin('hasty');
    const [first, second] = run.typed('review.requested');
    expect([first?.step, second?.step]).toEqual(['patient', 'hasty']);
    await run.clock.advance(HOUR_MS);
    expect(await hasty.result).toEqual({ choice: 'approve', by: 'timeout' });
    expect(run.typed('review.resolved')).toMatchObject([{ review: second?.review }]);
    run.answer('approve');
    expect(await patient.result).toEqual({ choice: 'approve', by: 'ada' });
  });

  it('has what it asked on the log: the options, and whom it asked', async () => {
    const run = await given(approval({ assignee: 'grace', options: ['ship', 'hold'] }));
    expect(await run.ready('ok')).toMatchObject({
      input: { prompt: 'Ship it?', options: ['ship', 'hold'], assignee: 'grace' },
      repeatable: true,
      timesItself: true,
    });
  });
});

describe('a call that a person has to approve', () => {
  /** A tool whose code changes while it waits for a person. */
  async function deploying() {
    const calls: TargetCall[] = [];
    let definition = 'first';
    let grants: readonly string[] = ['deploy'];
    const target: Target = {
      kind: 'tool',
      name: 'deploy',
      description: '',
      parameters: {},
      idempotent: true,
      start: 'on_close',
      check: () => undefined,
      definition: () => definition,
      needs: async () => ({ target: 'tool "deploy"', what: 'deploy', because: 'approval', grants }),
      run: async (call) => {
        calls.push(call);
        return 'deployed';
      },
    };
    const run = await given({
      steps: [{ name: 'd', type: 'tool', target: 'deploy', parameters: {} }],
      deps: { targets: { find: () => target, all: () => [target] } as never },
    });
    return {
      run,
      calls,
      change: (to: string) => {
        definition = to;
      },
      demand: (more: readonly string[]) => {
        grants = more;
      },
    };
  }
  const CHANGED = 'the manifest or the code of tool "deploy" has changed';

  it('is asked for anew where it is another by then, and the old word counts no more', async () => {
    const { run, calls, change } = await deploying();
    const first = await run.begin('d');
    await settled();
    const crashed = crash(run, first);
    run.answer('approve');
    await crashed;
    change('second');
    const again = await run.begin('d');
    await settled();
    const [asked, anew] = run.typed('review.requested');
    expect(run.typed('review.voided')).toMatchObject([{ review: asked?.review, changed: [CHANGED] }]);
    expect(anew).toMatchObject({
      call: { target: 'tool "deploy"', because: 'approval', definition: 'second' },
      replaces: { review: asked?.review, changed: [CHANGED] },
    });
    expect(calls).toEqual([]);
    run.answer('approve');
    expect(await again.result).toBe('deployed');
    expect(calls).toMatchObject([{ granted: ['deploy'] }]);
  });

  it('changes under a question that is open: that one is withdrawn, and there is one to answer', async () => {
    const { run, calls, change } = await deploying();
    const first = await run.begin('d');
    await settled();
    await crash(run, first);
    change('second');
    const again = await run.begin('d');
    await settled();
    const [asked, anew] = run.typed('review.requested');
    expect(run.typed('review.resolved')).toMatchObject([
      { review: asked?.review, answer: 'withdrawn', note: 'It is asked anew, about something else.' },
    ]);
    expect(anew).toMatchObject({ replaces: { review: asked?.review } });
    run.answer('approve');
    expect(await again.result).toBe('deployed');
    expect([calls.length, run.typed('review.voided')]).toEqual([1, []]);
  });

  it('and needs leave for something else by then has none', async () => {
    const { run, calls, demand } = await deploying();
    const first = await run.begin('d');
    await settled();
    const crashed = crash(run, first);
    run.answer('approve');
    await crashed;
    demand(['deploy', 'read secrets']);
    const again = await run.begin('d');
    await settled();
    expect([calls.length, run.typed('review.voided').length]).toEqual([0, 1]);
    run.answer('approve');
    await again.result;
    expect(calls).toMatchObject([{ granted: ['deploy', 'read secrets'] }]);
  });

  it('replaces nothing where the one before was refused', async () => {
    const { run, change } = await deploying();
    const first = await run.begin('d');
    await settled();
    run.answer('reject', 'rejected', 'not now..');
    expect(await failure(first.result)).toMatchObject({
      message: 'A person refused the call of tool "deploy" (ada): not now.',
      hint: 'It is asked because of "approval".',
    });
    const error = { code: 'not_permitted', message: '', retryable: false };
    run.journal.append({ type: 'step.retrying', step: 'd', attempt: 2, error, due: 0 });
    change('second');
    const again = await run.begin('d', { attempt: 2 });
    await settled();
    const [, anew] = run.typed('review.requested');
    expect(anew).not.toHaveProperty('replaces');
    run.answer('approve');
    expect(await again.result).toBe('deployed');
  });
});
