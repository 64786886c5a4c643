import { describe, expect, it } from 'vitest';
import { stage } from './stage.ts';

describe('who waits for the first of some actions', () => {
  it('is told once, by whichever ends first', async () => {
    const on = stage();
    for (const id of ['a', 'b', 'c']) on.declare(id);
    let told = 0;
    on.scheduler.whenAnyEnded(['a', 'b', 'c'], () => told++);
    expect(told).toBe(0);
    await on.complete('b');
    expect(told).toBe(1);
    await on.complete('a');
    await on.fail('c');
    expect(told).toBe(1);
  });

  it('is told at once where one has ended', async () => {
    const on = stage();
    on.declare('a');
    on.declare('b');
    await on.complete('b');
    let told = 0;
    on.scheduler.whenAnyEnded(['a', 'b'], () => told++);
    expect(told).toBe(1);
    await on.complete('a');
    expect(told).toBe(1);
  });
});

describe('who does not wait any more', () => {
  it('is not told, and nothing is kept of it', async () => {
    const on = stage();
    on.declare('a');
    on.declare('b');
    const told: string[] = [];
    on.scheduler.whenAllEnded(['a'], () => told.push('stays'));
    const forgetters = [
      on.scheduler.whenAllEnded(['a', 'b'], () => told.push('both')),
      on.scheduler.whenAnyEnded(['a', 'b'], () => told.push('one')),
    ];
    for (const forget of forgetters) forget();
    const { waiters } = on.scheduler.notifier;
    expect([...waiters].map(([id, all]) => [id, all.length])).toEqual([['a', 1]]);
    await on.complete('a');
    await on.complete('b');
    expect(told).toEqual(['stays']);
  });

  it('is not told where another who was told first said so', async () => {
    const on = stage();
    on.declare('a');
    let told = 0;
    let forget = () => {};
    on.scheduler.whenAllEnded(['a'], () => forget());
    forget = on.scheduler.whenAllEnded(['a'], () => told++);
    await on.complete('a');
    expect(told).toBe(0);
  });
});
