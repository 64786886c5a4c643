import { describe, expect, it } from 'vitest';
import type { FreeSlot } from '../../src/engine/slots.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import type { PreparedStep, StepAttempt, StepExecutors } from '../../src/workflows/step-executor.ts';
import { boom, createStage, DEAD, step, untilAborted } from './machine-stage.ts';

const retry = { retry: { max: 2, backoff: { ms: 900 } } };

/** Steps that are all made ready in this way. */
const leavesOf = (ready: () => Partial<PreparedStep> | Promise<Partial<PreparedStep>>): StepExecutors => ({
  async ready() {
    return { input: {}, repeatable: true, run: () => Promise.resolve('done'), ...(await ready()) };
  },
  compensate: () => Promise.resolve(),
});

describe('a step that is taken up again', () => {
  it('fails where it cannot be made ready any more, in the try that it was in', async () => {
    const stage = createStage([step('unready')]);
    stage.journal.append({ type: 'step.started', step: 'unready', attempt: 2, repeatable: true });
    const events = [...stage.journal.events];
    await stage.clock.advance(5_000);
    const again = createStage([step('unready')], {}, { events, clock: stage.clock });
    expect(await again.run()).toMatchObject({ kind: 'failed', error: { code: 'no_such_path' } });
    expect(again.short()).toEqual(['started unready', 'failed unready no_such_path']);
    expect(again.journal.events.at(-1)).toMatchObject({ attempts: 2, ms: 5_000, cause: { seq: 2 } });
  });

  it('is tried again where it paused before its next try, also if it may not be repeated', async () => {
    const scripts = { repeatable: () => false };
    const first = createStage([step('a', retry)], { ...scripts, steps: { a: () => boom() } });
    first.journal.dieAfter = 3;
    const dying = first.run();
    const death = expect(dying).rejects.toBe(DEAD);
    await first.clock.advance(900);
    await death;
    expect(first.short()).toEqual(['started a', 'retrying a']);
    expect(first.journal.events.at(-1)).toMatchObject({ attempt: 2, error: { code: 'boom' } });
    const before = { events: first.journal.events, clock: first.clock };
    const again = createStage([step('a', retry)], scripts, before);
    expect(await again.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(again.performed).toEqual(['a try 2']);
  });

  it('and was found in doubt before is failed as such, and found so once', async () => {
    const scripts = { repeatable: () => false };
    const stage = createStage([step('a', retry)], scripts);
    stage.journal.append({ type: 'step.started', step: 'a', attempt: 2, repeatable: false });
    await stage.clock.advance(5_000);
    const whole = createStage([step('a', retry)], scripts, {
      events: stage.journal.events,
      clock: stage.clock,
    });
    expect(await whole.run()).toMatchObject({ kind: 'failed', error: { code: 'interrupted' } });
    const [, , doubt, end] = whole.journal.events;
    expect(doubt).toMatchObject({ type: 'step.interrupted', attempt: 2, cause: { seq: 2 } });
    expect(end).toMatchObject({ type: 'step.failed', attempts: 2, ms: 5_000, cause: { seq: 2 } });
    const again = createStage([step('a', retry)], scripts, { events: whole.journal.events.slice(0, 3) });
    expect(await again.run()).toMatchObject({ kind: 'failed', error: { code: 'interrupted' } });
    expect(again.short()).toEqual(['started a', 'interrupted a', 'failed a interrupted']);
    expect(again.performed).toEqual([]);
  });

  it('is cancelled in its pause like any other', async () => {
    const first = createStage([step('a', retry)], { steps: { a: () => boom() } });
    const owner = new AbortController();
    const stopped = first.run({ signal: owner.signal });
    await first.clock.advance(100);
    owner.abort();
    await stopped;
    const cancel = new AbortController();
    const before = { events: first.journal.events, clock: first.clock };
    const again = createStage([step('a', retry)], {}, before);
    const end = again.run({ cancel: cancel.signal });
    await again.clock.advance(100);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect([again.short().at(-1), again.performed, again.clock.pending]).toEqual(['cancelled a', [], 0]);
  });
});

describe('a run that is cancelled', () => {
  it('in the pause before a try makes no further one', async () => {
    const cancel = new AbortController();
    const stage = createStage([step('a', retry)], { steps: { a: () => boom() } });
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(100);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.short()).toEqual(['started a', 'retrying a', 'cancelled a']);
    expect(stage.clock.pending).toBe(0);
  });

  it('while a step is made ready begins it no more, whether it can be or not', async () => {
    for (const settle of [() => ({}), () => boom('nothing there')]) {
      const cancel = new AbortController();
      const executors = leavesOf(async () => {
        cancel.abort('enough');
        await undefined;
        return settle();
      });
      const stage = createStage([step('a')]);
      expect(await stage.run({ executors, cancel: cancel.signal })).toEqual({
        kind: 'cancelled',
        reason: 'enough',
      });
      expect(stage.short()).toEqual([]);
      const known = createStage([step('a')]);
      known.journal.append({ type: 'step.started', step: 'a', attempt: 1, repeatable: true });
      await known.run({ executors, cancel: cancel.signal });
      expect(known.short()).toEqual(['started a', 'cancelled a']);
    }
  });

  it('while the start of a step is committed does not do it', async () => {
    const cancel = new AbortController();
    const stage = createStage([step('a')], { repeatable: () => false });
    const { flushed } = stage.journal;
    stage.journal.flushed = async () => {
      cancel.abort('enough');
      await flushed();
    };
    expect(await stage.run({ cancel: cancel.signal })).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect([stage.short(), stage.performed]).toEqual([['started a', 'cancelled a'], []]);
  });
});

describe('a further try', () => {
  const slotsThat = (give: (nth: number, signal: AbortSignal) => FreeSlot | Promise<FreeSlot>) => {
    let asked = 0;
    return { enter: () => (signal: AbortSignal) => give(++asked, signal), steps: { a: () => boom() } };
  };

  it('that is given no slot fails the step with the tries it has had', async () => {
    const stage = createStage(
      [step('a', retry)],
      slotsThat((nth) =>
        nth === 1 ? () => undefined : Promise.reject(new RuntimeError('slots_full', 'Full.')),
      ),
    );
    const end = stage.run();
    await stage.clock.advance(900);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'slots_full' }, step: 'a' });
    expect(stage.short()).toEqual(['started a', 'retrying a', 'failed a slots_full']);
    expect(stage.journal.events.at(-1)).toMatchObject({ attempts: 1, ms: 900, cause: { seq: 2 } });
  });

  it('that is cancelled while it waits for a slot is on the log as cancelled', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      [step('a', retry)],
      slotsThat((nth, signal) =>
        nth === 1
          ? () => undefined
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    );
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(900);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.journal.events.at(-1)).toMatchObject({
      type: 'step.cancelled',
      step: 'a',
      reason: 'enough',
      cause: { seq: 2 },
    });
  });

  it('is counted on the log as it is begun', async () => {
    const stage = createStage([step('a', { retry: { max: 2, backoff: { ms: 100 } } })], {
      steps: { a: () => boom() },
    });
    const end = stage.run();
    await stage.clock.runAll();
    await end;
    const tries = stage.journal.events.flatMap((event) =>
      event.type === 'step.started' || event.type === 'step.retrying' ? [[event.type, event.attempt]] : [],
    );
    expect(tries).toEqual([
      ['step.started', 1],
      ['step.retrying', 2],
      ['step.started', 2],
      ['step.retrying', 3],
      ['step.started', 3],
    ]);
    expect(stage.journal.events.at(-1)).toMatchObject({ type: 'step.failed', attempts: 3 });
  });
});

describe('a try', () => {
  it('has the time of what it calls where the step sets none', async () => {
    const executors = leavesOf(() => ({ timeoutMs: 2_000, run: untilAborted }));
    for (const [own, ms] of [
      [{}, 2_000],
      [{ timeout: { ms: 500 } }, 500],
      [{ timeout: { ms: 3_000 } }, 3_000],
    ] as const) {
      const stage = createStage([step('a', own)]);
      const end = stage.run({ executors });
      await stage.clock.advance(ms - 1);
      expect(stage.short()).toEqual(['started a']);
      await stage.clock.advance(1);
      expect(await end).toMatchObject({
        error: { code: 'timeout', message: `The step "a" took longer than ${ms / 1000} s.` },
      });
    }
  });

  it('is told its own start as the cause of what it brings about', async () => {
    const seen: StepAttempt['cause'][] = [];
    const stage = createStage([step('x'), step('a')], {
      steps: { a: ({ cause }) => seen.push(cause) as Json },
    });
    await stage.run();
    expect(seen).toMatchObject([{ stream: 'run', seq: 4 }]);
  });

  it('waits for the log where that could be lost, also if it may be repeated', async () => {
    const seen: number[] = [];
    const stage = createStage([step('a')], { steps: { a: () => seen.push(stage.journal.committed) } });
    await stage.run({ journal: Object.assign(stage.journal, { mayBeLost: () => true }) });
    expect(seen).toEqual([2]);
  });

  it('is not begun by whoever has been told to let go', async () => {
    const stage = createStage([step('a')]);
    expect(await stage.run({ signal: AbortSignal.abort() })).toEqual({ kind: 'stopped' });
    expect([stage.short(), stage.performed]).toEqual([[], []]);
  });
});

describe('a jump', () => {
  it('of a step to itself is a further visit, and comes to an end', async () => {
    let failures = 2;
    const stage = createStage([step('a', { on_error: { goto: 'a' } })], {
      steps: { a: () => (failures-- > 0 ? boom() : 'fine') },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'fine' });
    expect(stage.performed).toEqual(['a', 'a~2', 'a~3']);
    const never = createStage([step('a', { on_error: { goto: 'a' } })], { steps: { a: () => boom() } });
    expect(await never.run()).toMatchObject({ error: { code: 'goto_limit' }, step: 'a~100' });
  });

  it('says of what it passes over which step jumped', async () => {
    const stage = createStage([step('a', { on_error: { goto: 'c' } }), step('b'), step('c')], {
      steps: { a: () => boom() },
    });
    await stage.run();
    expect(stage.journal.events.find(({ type }) => type === 'step.skipped')).toMatchObject({
      step: 'b',
      reason: 'goto',
      because: 'a',
    });
  });
});
