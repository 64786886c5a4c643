import { describe, expect, test } from 'vitest';
import { stage } from './stage.ts';

describe('starting', () => {
  test('an action with nothing to wait for is called before declare returns', () => {
    const s = stage();
    s.declare('a', { parameters: { x: 1 } });
    expect(s.running()).toEqual(['a']);
    expect(s.call('a').input).toEqual({ x: 1 });
    expect(s.story()).toEqual(['declared a', 'started a']);
  });

  test('an action starts when all it depends on has succeeded', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b');
    s.declare('c', { depends_on: ['a', 'b', 'a'] });
    await s.complete('a');
    expect(s.running()).toEqual(['b']);
    await s.complete('b');
    expect(s.running()).toEqual(['c']);
  });

  test('each event names the one that brought it about', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'] });
    await s.complete('a');
    const seqOf = (type: string, id: string) =>
      s.events.find((event) => event.type === type && 'id' in event && event.id === id)?.seq;
    const started = s.events.find((event) => event.type === 'action.started' && event.id === 'b');
    expect(started?.cause.seq).toBe(seqOf('action.completed', 'a'));
    const completed = s.events.find((event) => event.type === 'action.completed' && event.id === 'a');
    expect(completed?.cause.seq).toBe(seqOf('action.started', 'a'));
  });

  test('an id of an earlier turn is a good dependency', async () => {
    const s = stage();
    s.declare('a');
    await s.complete('a');
    s.scheduler.turnEnded('well');
    s.declare('b', { depends_on: ['a'] });
    expect(s.running()).toEqual(['b']);
  });

  test('an id not seen yet is waited for until it has been declared and has succeeded', async () => {
    const s = stage();
    s.declare('b', { depends_on: ['a'] });
    expect(s.running()).toEqual([]);
    s.declare('a');
    expect(s.running()).toEqual(['a']);
    await s.complete('a');
    expect(s.running()).toEqual(['b']);
  });

  test('an id that never came is an unknown dependency at the end of the turn', () => {
    const s = stage();
    s.declare('b', { depends_on: ['nope'] });
    s.declare('c', { depends_on: ['b'] });
    s.scheduler.turnEnded('well');
    expect(s.story().slice(2)).toEqual(['skipped b unknown_dependency nope', 'skipped c dependency b']);
  });

  test('an id that is taken does not run a second time', () => {
    const s = stage();
    s.declare('a');
    s.declare('a');
    expect(s.story()).toEqual(['declared a', 'started a', 'fault duplicate_id']);
  });

  test('ten thousand in a chain of forward references are started and skipped without a stack', async () => {
    const s = stage();
    for (let i = 10_000; i > 1; i--) s.declare(`n${i}`, { depends_on: [`n${i - 1}`] });
    s.declare('n1');
    await s.complete('n1');
    expect(s.running()).toEqual(['n2']);
    await s.fail('n2');
    expect(s.state.open.size).toBe(0);
    expect(s.state.actions.get('n10000')?.skipped).toEqual({ reason: 'dependency', because: 'n2' });
  });
});

describe('what a failure does to others', () => {
  test('dependents are skipped all the way down, naming the one that failed', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'] });
    s.declare('c', { depends_on: ['b'] });
    s.declare('d');
    await s.fail('a');
    expect(s.story().slice(5)).toEqual(
      ['started d', 'failed a boom', 'skipped b dependency a', 'skipped c dependency a'].slice(0),
    );
    expect(s.ended).toEqual(['a', 'b', 'c']);
    expect(s.running()).toEqual(['d']);
  });

  test('a dependency that failed in an earlier turn skips at once', async () => {
    const s = stage();
    s.declare('a');
    await s.fail('a');
    s.scheduler.turnEnded('well');
    s.declare('b', { depends_on: ['a'] });
    expect(s.story().at(-1)).toBe('skipped b dependency a');
  });

  test('a cancelled dependency skips its dependents', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'] });
    const stopped = s.scheduler.cancel('enough', ['a']);
    expect(s.call('a').signal.aborted).toBe(true);
    await s.fail('a', new Error('aborted'));
    await stopped;
    expect(s.story().slice(-2)).toEqual(['cancelled a', 'skipped b dependency a']);
  });
});

describe('deadlocks', () => {
  test('two that wait for each other', () => {
    const s = stage();
    s.declare('a', { depends_on: ['b'] });
    s.declare('b', { depends_on: ['a'] });
    expect(s.story()).toEqual([
      'declared a',
      'declared b',
      'fault deadlock',
      'skipped b deadlock b → a → b',
      'skipped a dependency b',
    ]);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message: expect.stringContaining('b waits for a waits for b'),
    });
  });

  test('an action that waits for itself', () => {
    const s = stage();
    s.declare('a', { depends_on: ['a'] });
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual(['skipped a deadlock a → a']);
  });

  test('a sync action that waits for an id not seen yet', () => {
    const s = stage();
    s.declare('a', { mode: 'sync', depends_on: ['later'] });
    expect(s.story()).toEqual(['declared a', 'fault deadlock', 'skipped a deadlock later']);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message: expect.stringContaining('Declare "later" first'),
    });
  });

  test('a sync action that waits for one that waits for an id not seen yet', () => {
    const s = stage();
    s.declare('a', { depends_on: ['later'] });
    s.declare('b', { mode: 'sync', depends_on: ['a'] });
    s.declare('later');
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual(['skipped b deadlock later']);
    expect(s.running()).toEqual(['later']);
  });

  test('a sync action whose target starts at the end of the turn, or that waits for one', () => {
    const s = stage({ targets: { mail: { start: 'on_turn_end' } } });
    s.declare('a', { mode: 'sync', name: 'mail' });
    s.declare('b', { name: 'mail' });
    s.declare('c', { mode: 'sync', depends_on: ['b'] });
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual([
      'skipped a deadlock a',
      'skipped c deadlock b',
    ]);
  });
});

describe('targets that wait for the end of the turn', () => {
  const targets = { mail: { start: 'on_turn_end' } } as const;

  test('start when it ends well', () => {
    const s = stage({ targets });
    s.declare('a', { name: 'mail' });
    expect(s.running()).toEqual([]);
    s.scheduler.turnEnded('well');
    expect(s.running()).toEqual(['a']);
  });

  test('are skipped when it breaks off', () => {
    const s = stage({ targets });
    s.declare('a', { name: 'mail' });
    s.scheduler.turnEnded('broken');
    expect(s.story()).toEqual(['declared a', 'skipped a turn_failed']);
  });

  test('still wait for their dependencies after it', async () => {
    const s = stage({ targets });
    s.declare('a');
    s.declare('b', { name: 'mail', depends_on: ['a'] });
    s.scheduler.turnEnded('well');
    expect(s.running()).toEqual(['a']);
    s.scheduler.turnEnded('broken');
    await s.complete('a');
    expect(s.running()).toEqual(['b']);
  });

  test('of the next turn wait for the end of that', () => {
    const s = stage({ targets });
    s.scheduler.turnEnded('well');
    s.declare('a', { name: 'mail' });
    expect(s.running()).toEqual([]);
  });
});

describe('groups', () => {
  test('a dependency on a parallel means all in it, also those declared after the dependent', async () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('z', { depends_on: ['g'] });
    await s.complete('a');
    expect(s.running()).toEqual([]);
    s.declare('b', { group: 'g' });
    let closed = false;
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => {
      closed = true;
    });
    expect(closed).toBe(false);
    await s.complete('b');
    expect(closed).toBe(true);
    expect(s.running()).toEqual(['z']);
  });

  test('a group that was not seen when it was named is complete at the end of the turn', async () => {
    const s = stage();
    s.declare('z', { depends_on: ['g'] });
    s.declare('a', { group: 'g' });
    await s.complete('a');
    expect(s.running()).toEqual([]);
    s.scheduler.turnEnded('well');
    expect(s.running()).toEqual(['z']);
  });

  test('a failure in it skips dependents at once, and its close still waits for the others', async () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('b', { group: 'g' });
    s.declare('z', { depends_on: ['g'] });
    let closed = false;
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => {
      closed = true;
    });
    await s.fail('a');
    expect(s.story().at(-1)).toBe('skipped z dependency a');
    expect(closed).toBe(false);
    await s.complete('b');
    expect(closed).toBe(true);
  });

  test('one of an earlier turn is a good dependency, and a failed one skips', async () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('b', { group: 'h' });
    await s.complete('a');
    await s.fail('b');
    s.scheduler.turnEnded('well');
    s.declare('y', { depends_on: ['g'] });
    s.declare('z', { depends_on: ['h'] });
    expect(s.running()).toEqual(['y']);
    expect(s.story().at(-1)).toBe('skipped z dependency b');
  });

  test('an action cannot wait for the group it stands in', () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('b', { group: 'g', depends_on: ['g'] });
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual(['skipped b deadlock b → g → b']);
  });

  test('at its close, what in it would wait for the end of the turn is a deadlock', () => {
    const s = stage({ targets: { mail: { start: 'on_turn_end' } } });
    s.declare('a', { group: 'g', depends_on: ['later'] });
    s.declare('b', { group: 'g', name: 'mail' });
    let closed = false;
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => {
      closed = true;
    });
    expect(closed).toBe(true);
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual([
      'skipped a deadlock later',
      'skipped b deadlock b',
    ]);
  });

  test('a sync action after it can wait for it', async () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('b', { mode: 'sync', depends_on: ['g'] });
    await s.complete('a');
    expect(s.running()).toEqual(['b']);
  });

  test('a group nobody has heard of has ended', () => {
    let ended = false;
    stage().scheduler.parallelClosed('g');
    stage().scheduler.whenAllEnded(['g'], () => {
      ended = true;
    });
    expect(ended).toBe(true);
  });
});
