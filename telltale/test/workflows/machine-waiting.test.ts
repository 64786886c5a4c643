import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/lib/clock.ts';
import { boom, createStage, parking, step, untilAborted } from './machine-stage.ts';

const held = { onSuspended: () => 'hold' as const };

describe('a step that waits', () => {
  it('has its time from its beginning on, not from when it began to wait', async () => {
    const stage = createStage([step('a', { timeout: { ms: 5_000 } })], {
      steps: {
        async a(call, clock) {
          await sleep(clock, 2_000, call.signal);
          return parking('a person')(call, clock);
        },
      },
    });
    const end = stage.run(held);
    await stage.clock.advance(4_999);
    expect(stage.short()).toEqual(['started a']);
    await stage.clock.advance(1);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'timeout' } });
    expect(stage.clock.pending).toBe(0);
  });

  it('for one thing and then for another waits for the other only', async () => {
    const stage = createStage([step('a')], {
      steps: {
        a(call, clock) {
          call.suspend('a person', clock.now() + 60_000);
          return parking('an event')(call, clock);
        },
      },
    });
    expect(await stage.run()).toEqual({ kind: 'parked', for: 'an event' });
  });

  it('and ends without a word goes on with its end', async () => {
    const stage = createStage([step('a'), step('b')], {
      steps: {
        async a(call, clock) {
          call.suspend('a person');
          await sleep(clock, 5_000, call.signal);
          return 'never mind';
        },
        b: parking('an event'),
      },
    });
    const end = stage.run({ onSuspended: (waits) => (waits.for === 'a person' ? 'hold' : 'release') });
    await stage.clock.advance(5_000);
    expect(await end).toEqual({ kind: 'parked', for: 'an event' });
  });

  it('is looked at again when the first time of all around it is up', async () => {
    const around = (outer: number, inner: number) =>
      createStage(
        [
          step('out', {
            type: 'parallel',
            timeout: { ms: outer },
            branches: [
              [
                step('in', {
                  type: 'parallel',
                  timeout: { ms: inner },
                  branches: [[step('a', { timeout: { ms: 50_000 } })]],
                }),
              ],
            ],
          }),
        ],
        { steps: { a: parking('an event') } },
      );
    for (const [outer, inner] of [
      [20_000, 30_000],
      [30_000, 20_000],
    ] as const) {
      const stage = around(outer, inner);
      expect(await stage.run()).toMatchObject({ kind: 'parked', due: stage.clock.now() + 20_000 });
    }
  });

  it('for its next try is looked at again when the time of the step around it is up', async () => {
    const around = (timeoutMs: number) =>
      createStage(
        [
          step('out', {
            type: 'parallel',
            timeout: { ms: timeoutMs },
            branches: [[step('a', { retry: { max: 1, backoff: { ms: 60_000 } } })]],
          }),
        ],
        { steps: { a: () => boom() } },
      );
    const short = around(20_000);
    expect(await short.run()).toMatchObject({ for: 'retry of out/a', due: short.clock.now() + 20_000 });
    const long = around(90_000);
    expect(await long.run()).toMatchObject({ for: 'retry of out/a', due: long.clock.now() + 60_000 });
  });

  it('and is let go of later, by whoever held it, parks as it stood', async () => {
    let later: () => void = () => undefined;
    const stage = createStage([step('a')], { steps: { a: parking('a person') } });
    const end = stage.run({
      onSuspended(_, letGo) {
        later = letGo;
        return 'hold';
      },
    });
    await stage.clock.advance(60_000);
    later();
    later();
    expect(await end).toEqual({ kind: 'parked', for: 'a person' });
  });
});

describe('a step that is stopped', () => {
  it('executors no timer behind, and its record says why', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      [
        step('p', {
          type: 'parallel',
          branches: [
            [step('a', { timeout: { ms: 60_000 } })],
            [step('b', { retry: { max: 1, backoff: { ms: 500 } } })],
          ],
        }),
      ],
      { steps: { a: untilAborted, b: () => boom() } },
    );
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(0);
    cancel.abort('not today');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'not today' });
    expect(stage.clock.pending).toBe(0);
    const cancelled = stage.journal.events.filter(({ type }) => type === 'step.cancelled');
    expect(cancelled).toMatchObject([
      { step: 'p/b', reason: 'not today' },
      { step: 'p/a', reason: 'not today' },
      { step: 'p', reason: 'not today' },
    ]);
  });

  it.each([
    [new Error('the budget is spent'), 'the budget is spent'],
    [new DOMException('This operation was aborted', 'AbortError'), 'cancelled'],
    [{ odd: true }, 'cancelled'],
  ])('by %s is cancelled because: %s', async (thrown, reason) => {
    const stage = createStage([step('a')]);
    expect(await stage.run({ cancel: AbortSignal.abort(thrown) })).toEqual({ kind: 'cancelled', reason });
  });

  it('gives back a slot that came too late, and was never begun', async () => {
    const cancel = new AbortController();
    let freed = 0;
    let give: (free: () => void) => void = () => undefined;
    const stage = createStage([step('a')], {
      enter: () => () => new Promise((resolve) => (give = resolve)),
    });
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(0);
    cancel.abort('too late');
    give(() => freed++);
    expect(await end).toEqual({ kind: 'cancelled', reason: 'too late' });
    expect([freed, stage.short()]).toEqual([1, []]);
  });

  it('while it comes back from its grace changes nothing any more', async () => {
    let comeBack: (output: string) => void = () => undefined;
    const stage = createStage([step('a', { timeout: { ms: 50 }, on_error: 'continue' }), step('b')], {
      steps: { a: () => new Promise<string>((resolve) => (comeBack = resolve)), b: untilAborted },
    });
    const owner = new AbortController();
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(10_050);
    comeBack('late');
    await stage.clock.advance(0);
    expect(stage.short()).toEqual(['started a', 'failed a timeout', 'started b']);
    owner.abort();
    expect(await end).toEqual({ kind: 'stopped' });
  });
});

describe('a step that ends', () => {
  it('in time executors no timer behind', async () => {
    const stage = createStage([step('a', { timeout: { ms: 60_000 } })]);
    await stage.run();
    expect(stage.clock.pending).toBe(0);
  });

  it('with nothing has null for its output', async () => {
    const stage = createStage([step('a')], { steps: { a: () => undefined as never } });
    expect(await stage.run()).toEqual({ kind: 'completed', output: null });
    expect(stage.journal.events.at(-1)).toMatchObject({ type: 'step.completed', output: null });
  });

  it('by throwing before it is waited for has failed', async () => {
    const stage = createStage([step('a')]);
    const executors = {
      ready: async () => ({ input: {}, repeatable: true, run: () => boom('at once') }),
      compensate: () => Promise.resolve(),
    };
    expect(await stage.run({ executors })).toMatchObject({ kind: 'failed', error: { code: 'at once' } });
  });
});
