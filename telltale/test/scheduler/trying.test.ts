import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import { GRACE_MS } from '../../src/scheduler/attempt.ts';
import { CAUSE, stage } from './stage.ts';

describe('the log comes first', () => {
  test('a target that is not idempotent is called when its start is committed', async () => {
    const s = stage({ manualCommit: true, targets: { pay: { idempotent: false } } });
    s.declare('a', { name: 'pay' });
    s.declare('b');
    expect(s.story()).toEqual(['declared a', 'started a', 'declared b', 'started b']);
    expect(s.running()).toEqual(['b']);
    await s.commit();
    expect(s.running()).toEqual(['b', 'a']);
  });

  test('where another process may have the log by now, that goes for idempotent targets, too', async () => {
    let lost = true;
    const s = stage({ manualCommit: true, mayBeLost: () => lost });
    s.declare('a');
    expect(s.story()).toEqual(['declared a', 'started a']);
    expect(s.running()).toEqual([]);
    await s.commit();
    expect(s.running()).toEqual(['a']);
    lost = false;
    s.declare('b');
    expect(s.running()).toEqual(['a', 'b']);
  });

  test('when the log is lost, nothing is called, nothing is written and what runs is aborted', async () => {
    const s = stage({ manualCommit: true, targets: { pay: { idempotent: false } } });
    s.declare('a', { name: 'pay' });
    s.declare('b');
    s.declare('c', { depends_on: ['b'] });
    const before = s.story();
    await s.commit(new RuntimeError('stream_lost', 'gone'));
    expect(s.call('b').signal.aborted).toBe(true);
    let stopped = false;
    const stopping = s.scheduler.cancel('end').then(() => {
      stopped = true;
    });
    s.declare('d');
    s.scheduler.declareForEach({ in: '$b', as: 'item', actions: [] }, CAUSE);
    s.scheduler.turnEnded('well');
    await s.settle();
    expect(stopped).toBe(false);
    await s.fail('b');
    await stopping;
    expect(s.story()).toEqual(before);
    expect(s.running()).toEqual([]);
    expect(s.clock.pending).toBe(0);
  });
});

describe('what is wrong before the call', () => {
  test('an unknown target is a failure without a try', () => {
    const s = stage({ targets: { nope: undefined } });
    s.declare('a', { name: 'nope', retry: 3 });
    expect(s.story()).toEqual(['declared a', 'failed a target_unknown']);
  });

  test('parameters that the target refuses are a failure without a try', () => {
    const check = () => new RuntimeError('bad_parameters', 'x is missing');
    const s = stage({ targets: { t: { check } } });
    s.declare('a', { name: 't', on_error: 'retry' });
    expect(s.story()).toEqual(['declared a', 'failed a bad_parameters']);
    expect(s.events.at(-1)).toMatchObject({ attempts: 0 });
  });
});

describe('retries', () => {
  test('come after an exponential back-off with full jitter', async () => {
    const s = stage({ random: () => 0.5 });
    s.declare('a', { retry: 9 });
    for (const delay_ms of [125, 250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
      await s.fail('a');
      expect(s.events.at(-1)).toMatchObject({ type: 'action.retrying', delay_ms });
      await s.clock.advance(delay_ms);
    }
    await s.complete('a', 'at last');
    expect(s.events.at(-1)).toMatchObject({ type: 'action.completed', attempts: 10, ms: 45_875 });
  });

  test('end with the last failure', async () => {
    const s = stage();
    s.declare('a', { retry: 1 });
    await s.fail('a', new RuntimeError('first', ''));
    await s.clock.advance(250);
    await s.fail('a', new RuntimeError('second', ''));
    expect(s.story()).toEqual(['declared a', 'started a', 'retrying a', 'started a 2', 'failed a second']);
    expect(s.events.at(-1)).toMatchObject({ attempts: 2 });
  });

  test('whatever number a model writes, there are a hundred further tries', async () => {
    const s = stage();
    s.declare('a', { retry: 1_000_000_000 });
    for (let tries = 1; tries <= 101; tries++) {
      await s.fail('a');
      await s.clock.advance(30_000);
    }
    expect(s.events.at(-1)).toMatchObject({ type: 'action.failed', attempts: 101 });
  });

  test('one that must not be made twice is over for whoever waits for those while it rests', async () => {
    let open = 0;
    const once = () => {
      open++;
      return () => open--;
    };
    const s = stage({ targets: { pay: { idempotent: false } }, once });
    s.declare('a', { name: 'pay', retry: 1 });
    await s.settle();
    expect(open).toBe(1);
    await s.fail('a');
    expect([s.story().at(-1), open]).toEqual(['retrying a', 0]);
    await s.clock.advance(250);
    expect(open).toBe(1);
    await s.complete('a');
    expect(open).toBe(0);
  });

  test('on_error: retry is three further tries where retry is absent', async () => {
    const s = stage();
    s.declare('a', { on_error: 'retry' });
    s.declare('b', { on_error: 'retry', retry: 0 });
    await s.fail('b');
    for (let n = 0; n < 4; n++) {
      await s.fail('a');
      await s.clock.advance(1000);
    }
    expect(s.story().filter((line) => line.startsWith('failed'))).toEqual(['failed b boom', 'failed a boom']);
    expect(s.events.at(-1)).toMatchObject({ attempts: 4 });
  });

  test.each(['not_permitted', 'bad_parameters', 'target_unknown'])('%s is not tried again', async (code) => {
    const s = stage();
    s.declare('a', { retry: 5 });
    await s.fail('a', new RuntimeError(code, ''));
    expect(s.story().at(-1)).toBe(`failed a ${code}`);
  });

  test('what user code throws, at once or later, is a failure', async () => {
    const s = stage({
      perform: () => {
        throw new TypeError('x is not a function');
      },
    });
    s.declare('a');
    await s.settle();
    expect(s.events.at(-1)).toMatchObject({ error: { code: 'internal', message: 'x is not a function' } });
  });
});

describe('time-outs', () => {
  test('an action that says how long counts before its target, that before the default', async () => {
    const s = stage({ actionTimeoutMs: 3000, targets: { slow: { timeoutMs: 2000 } } });
    s.declare('a', { name: 'slow', timeout: 1 });
    s.declare('b', { name: 'slow' });
    s.declare('c');
    const aborted = () => s.calls.filter(({ signal }) => signal.aborted).map(({ id }) => id);
    await s.clock.advance(1000);
    expect(aborted()).toEqual(['a']);
    await s.clock.advance(1000);
    expect(aborted()).toEqual(['a', 'b']);
    await s.clock.advance(1000);
    expect(aborted()).toEqual(['a', 'b', 'c']);
  });

  test('abort the signal and fail once the target has stopped, whatever it says then', async () => {
    const s = stage();
    s.declare('a', { timeout: 1 });
    await s.clock.advance(1000);
    const { signal } = s.call('a');
    expect(signal.reason).toMatchObject({ code: 'timeout', retryable: true });
    expect(s.story()).toEqual(['declared a', 'started a']);
    await s.complete('a', 'too late');
    expect(s.story().at(-1)).toBe('failed a timeout');
    expect(s.clock.pending).toBe(0);
  });

  test('a target that does not stop is left to itself after its grace', async () => {
    const s = stage();
    s.declare('a', { timeout: 1, retry: 1 });
    const first = s.call('a');
    await s.clock.advance(1000 + GRACE_MS);
    expect(s.story().at(-1)).toBe('retrying a');
    await s.clock.advance(1000);
    expect(s.story().at(-1)).toBe('started a 2');
    first.resolve('from the first try');
    await s.settle();
    expect(s.story().at(-1)).toBe('started a 2');
    await s.complete('a', 'from the second');
    expect(s.events.at(-1)).toMatchObject({ type: 'action.completed', output: 'from the second' });
  });

  test('are for each try', async () => {
    const s = stage({ random: () => 0 });
    s.declare('a', { timeout: 10, retry: 1 });
    await s.clock.advance(8000);
    await s.fail('a');
    await s.clock.advance(8000);
    expect(s.call('a').signal.aborted).toBe(false);
    await s.complete('a');
    expect(s.clock.pending).toBe(0);
  });
});

describe('parallel_actions', () => {
  test('is never exceeded, and what waits for a place starts in the order in which it was ready', async () => {
    const s = stage({ parallelActions: 2 });
    for (const id of ['a', 'b', 'c', 'd']) s.declare(id);
    s.declare('e', { mode: 'sync' });
    expect(s.running()).toEqual(['a', 'b']);
    await s.complete('b');
    expect(s.running()).toEqual(['a', 'c']);
    await s.fail('a');
    await s.complete('c');
    expect(s.running()).toEqual(['d', 'e']);
  });

  test('an action that rests between tries takes no place', async () => {
    const s = stage({ parallelActions: 1 });
    s.declare('a', { retry: 1 });
    s.declare('b');
    await s.fail('a');
    expect(s.running()).toEqual(['b']);
    await s.clock.advance(250);
    expect(s.running()).toEqual(['b']);
    await s.complete('b');
    expect(s.running()).toEqual(['a']);
  });
});

describe('being told', () => {
  test('ends are told in the order of the log, also those that the telling brings about', async () => {
    const told: string[] = [];
    const s = stage({
      onEnded: (id) => {
        told.push(id);
        if (id === 'a') s.declare('d', { depends_on: ['a'] });
      },
    });
    s.declare('a');
    s.declare('b', { depends_on: ['a'] });
    s.declare('c', { depends_on: ['b'] });
    await s.fail('a');
    expect(told).toEqual(['a', 'b', 'c', 'd']);
  });

  test('whoever waits for an end can declare the next action from there', async () => {
    const s = stage();
    s.declare('a', { mode: 'sync' });
    s.scheduler.whenAllEnded(['a'], () => {
      s.declare('b', { mode: 'sync' });
      expect(s.running()).toEqual(['b']);
    });
    await s.complete('a');
    expect(s.running()).toEqual(['b']);
  });

  test('fire_and_forget actions are not tracked', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { mode: 'fire_and_forget' });
    s.declare('c', { mode: 'sync', depends_on: ['a'] });
    expect(s.scheduler.tracked()).toEqual(['a', 'c']);
    expect(s.scheduler.untracked()).toEqual(['b']);
    await s.complete('a');
    expect(s.scheduler.tracked()).toEqual(['c']);
  });
});
