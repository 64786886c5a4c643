import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { ApprovalCall } from '../../src/scheduler/scheduler-deps.ts';
import { restart, type StageOptions, stage } from './stage.ts';

/** A stage on which `t_a` has to be cleared, by the test. */
function cleared(options: StageOptions = {}) {
  const asked: (ApprovalCall & { answer(refusal?: RuntimeError): void })[] = [];
  const given: StageOptions = {
    targets: { t_a: { needs: () => undefined, idempotent: false } },
    clear: (call) => new Promise((resolve) => asked.push({ ...call, answer: resolve })),
    ...options,
  };
  return { on: stage(given), asked, given };
}

const no = new RuntimeError('not_permitted', 'No.');

describe('an action that has to be cleared', () => {
  it('starts once it has leave, and the wait is no part of its time', async () => {
    const { on, asked } = cleared({ actionTimeoutMs: 1_000 });
    on.declare('a');
    await on.clock.advance(3_600_000);
    expect(on.story()).toEqual(['declared a']);
    asked[0]?.answer();
    await on.settle();
    expect(on.running()).toEqual(['a']);
    await on.clock.advance(10);
    await on.complete('a', 1);
    expect(on.events.at(-1)).toMatchObject({ type: 'action.completed', ms: 10 });
  });

  it('fails without having started where it has none, and its dependents are skipped', async () => {
    const { on, asked } = cleared();
    on.declare('a', { on_error: 'retry', retry: 3 });
    on.declare('b', { depends_on: ['a'] });
    asked[0]?.answer(no);
    await on.settle();
    expect(on.story()).toEqual([
      'declared a',
      'declared b',
      'failed a not_permitted',
      'skipped b dependency a',
    ]);
  });

  it('takes no place of those that run', async () => {
    const { on, asked } = cleared({ parallelActions: 1 });
    on.declare('a');
    on.declare('b');
    expect(on.running()).toEqual(['b']);
    asked[0]?.answer();
    await on.settle();
    expect(on.running()).toEqual(['b']);
    await on.complete('b');
    expect(on.running()).toEqual(['a']);
  });

  it('is asked for once, also where it is tried again', async () => {
    const { on, asked } = cleared();
    on.declare('a', { retry: 1 });
    asked[0]?.answer();
    await on.settle();
    await on.fail('a');
    await on.clock.advance(60_000);
    expect(on.running()).toEqual(['a']);
    expect(asked).toHaveLength(1);
  });

  it('takes its question back when it is cancelled', async () => {
    const { on, asked } = cleared();
    on.declare('a');
    await on.scheduler.cancel('enough', ['a']);
    expect(asked[0]?.signal.aborted).toBe(true);
    asked[0]?.answer();
    await on.settle();
    expect(on.story()).toEqual(['declared a', 'cancelled a']);
  });

  it('is not asked for where clear needs no time', async () => {
    const { on } = cleared({ clear: () => undefined });
    on.declare('a');
    await on.settle();
    expect(on.running()).toEqual(['a']);
  });

  it('that was waiting when the process died waits again, with the parameters that were asked about', async () => {
    const { on, given } = cleared({ outside: { where: 'test' } });
    on.declare('a', { parameters: { to: '$where' } });
    on.append({
      type: 'review.requested',
      review: 'r',
      action: 'a',
      target: 't',
      what: 'w',
      because: 'b',
      input: { to: 'test' },
      grants: [],
    });
    const asked: ApprovalCall[] = [];
    const after = restart(on, {
      ...given,
      outside: { where: 'prod' },
      clear: (call) => {
        asked.push(call);
        return undefined;
      },
    });
    await after.settle();
    expect(asked[0]?.input).toEqual({ to: 'test' });
    expect(after.call('a').input).toEqual({ to: 'test' });
    expect(after.story()).toEqual(['declared a', 'started a']);
  });
});

it('a scheduler is at rest when all that is open waits for leave', async () => {
  const { on, asked } = cleared();
  expect(on.scheduler.isParked()).toBe(false);
  on.declare('a');
  on.declare('b', { depends_on: ['a'] });
  expect(on.scheduler.isParked()).toBe(true);
  on.declare('c');
  expect(on.scheduler.isParked()).toBe(false);
  await on.complete('c');
  expect(on.scheduler.isParked()).toBe(true);
  asked[0]?.answer();
  await on.settle();
  expect(on.scheduler.isParked()).toBe(false);
});
