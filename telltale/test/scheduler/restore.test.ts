import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import { CAUSE, restart, stage } from './stage.ts';

const targets = { pay: { idempotent: false }, mail: { start: 'on_turn_end' } } as const;
const action = (id: string, fields: Partial<DeclaredAction> = {}): DeclaredAction => ({
  id,
  kind: 'tool',
  mode: 'async',
  name: `t_${id}`,
  parameters: {},
  ...fields,
});

const completed = (finish: 'stop' | 'length' | 'cut') =>
  ({
    type: 'turn.completed',
    usage: { input: 0, output: 0 },
    cost_usd: 0,
    ms: 0,
    first_token_ms: 0,
    finish,
  }) as const;

/** A stage whose turn has begun. */
const inTurn = (options: Parameters<typeof stage>[0] = {}) => {
  const s = stage({ targets, ...options });
  s.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
  return s;
};

describe('after a restart', () => {
  test('what was completed keeps its result and is not run again', async () => {
    const before = inTurn();
    before.declare('a');
    before.declare('b');
    before.declare('c', { depends_on: ['a', 'b'], parameters: { x: '$a' } });
    await before.complete('a', 'result');
    const after = restart(before, { targets });
    expect(after.running()).toEqual(['b']);
    await after.complete('b');
    expect(after.call('c').input).toEqual({ x: 'result' });
  });

  test('what ran is run again as its next attempt, with the same input, if it may be', () => {
    const before = inTurn({ outside: { v: 1 } });
    before.declare('a', { parameters: { x: '$v' } });
    const after = restart(before, { targets, outside: { v: 2 } });
    expect(after.call('a')).toMatchObject({ attempt: 2, input: { x: 1 } });
    expect(after.story()).toEqual(['declared a', 'started a', 'started a 2']);
  });

  test('what may not be run again is interrupted, and its dependents are skipped, wherever they were declared', () => {
    const before = inTurn();
    before.declare('early', { depends_on: ['a'] });
    before.declare('a', { name: 'pay' });
    before.declare('late', { depends_on: ['a'] });
    const after = restart(before, { targets });
    expect(after.story().slice(-3)).toEqual([
      'interrupted a',
      'skipped early dependency a',
      'skipped late dependency a',
    ]);
    expect(after.running()).toEqual([]);
  });

  test('an action that the process dies with time and again is given up', () => {
    let s = inTurn();
    s.declare('a');
    for (let n = 0; n < 11; n++) s = restart(s);
    expect(s.story().at(-1)).toBe('interrupted a');
    expect(s.state.actions.get('a')?.attempts).toBe(11);
  });

  test('an agent goes on however often the process dies with it, and so does a rollback', () => {
    for (const fields of [{ kind: 'agent' }, { kind: 'internal', name: 'rollback' }] as const) {
      let s = inTurn();
      s.declare('a', fields);
      for (let n = 0; n < 30; n++) s = restart(s);
      expect(s.state.actions.get('a')).toMatchObject({ status: 'running', attempts: 31 });
    }
  });

  test('an action that rested between tries is tried again', () => {
    const before = inTurn();
    before.declare('a', { name: 'pay', retry: 2 });
    const after = stage({ targets, events: before.events });
    // As the fold has it once `action.retrying` counts there.
    const known = after.state.actions.get('a');
    if (known !== undefined) Object.assign(known, { status: 'waiting', attempts: 1, input: { x: 1 } });
    after.scheduler.restore(after.state);
    expect(after.story().at(-1)).toBe('started a 2');
  });

  test('ids not seen yet and targets of the turn’s end still wait for it', () => {
    const before = inTurn();
    before.declare('a', { depends_on: ['later'] });
    before.declare('m', { name: 'mail' });
    const after = restart(before, { targets });
    expect(after.story()).toEqual(['declared a', 'declared m']);
    after.scheduler.turnEnded('broken');
    expect(after.story().slice(2)).toEqual(['skipped a unknown_dependency later', 'skipped m turn_failed']);
  });

  test('what the end of a turn would have brought comes now', () => {
    const before = inTurn();
    before.declare('a', { depends_on: ['later'] });
    before.declare('m', { name: 'mail' });
    before.append(completed('stop'));
    const after = restart(before, { targets });
    expect(after.story().slice(2)).toEqual(['skipped a unknown_dependency later', 'started m']);
  });

  test.each([
    ['at its longest', 'length', undefined],
    ['with a tag left open', 'stop', 'truncated'],
    ['cut by the runtime at a limit', 'cut', 'turn_too_long'],
    ['cut while something was held back', 'cut', 'buffer_full'],
  ] as const)('a turn that ended %s starts no target of its end', (_how, finish, fault) => {
    const before = inTurn();
    before.declare('m', { name: 'mail' });
    if (fault !== undefined) before.append({ type: 'fault', code: fault, message: 'x' });
    before.append(completed(finish));
    expect(restart(before, { targets }).story().at(-1)).toBe('skipped m turn_failed');
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    before.declare('n', { name: 'mail' });
    before.append(completed('stop'));
    expect(restart(before, { targets }).story().slice(-2)).toEqual(['skipped m turn_failed', 'started n']);
  });

  test('a turn that broke off starts no target of its end', () => {
    const before = inTurn();
    before.declare('m', { name: 'mail' });
    before.append({ type: 'turn.failed', error: { code: 'x', message: 'x', retryable: true } });
    expect(restart(before, { targets }).story().at(-1)).toBe('skipped m turn_failed');
  });

  test('groups and output keys are known again', async () => {
    const before = inTurn();
    before.declare('a', { group: 'g', output_key: 'k' });
    before.declare('b', { group: 'g' });
    before.declare('z', { depends_on: ['g'], parameters: { k: '$k' } });
    await before.complete('a', 'value');
    const after = restart(before);
    after.scheduler.turnEnded('broken');
    await after.complete('b');
    expect(after.call('z').input).toEqual({ k: 'value' });
    after.declare('y', { depends_on: ['g'] });
    expect(after.running()).toContain('y');
  });

  test('a failure whose dependents were not skipped in time skips them', async () => {
    const before = inTurn();
    before.declare('z', { depends_on: ['g'] });
    before.declare('a', { group: 'g' });
    before.declare('y', { depends_on: ['a'] });
    before.append({
      type: 'action.failed',
      id: 'a',
      error: { code: 'boom', message: '', retryable: false },
      ms: 0,
      attempts: 1,
    });
    expect(restart(before).story().slice(-2).sort()).toEqual([
      'skipped y dependency a',
      'skipped z dependency a',
    ]);
  });

  test('a loop that had not come to its list goes on waiting for it', async () => {
    const before = inTurn();
    before.declare('list');
    before.scheduler.declareForEach(
      { in: '$list', as: 'n', actions: [action('page', { parameters: { n: '$n' } })] },
      CAUSE,
    );
    before.declare('z', { parameters: { all: '$page' } });
    const after = restart(before);
    await after.complete('list', [1, 2]);
    await after.complete('page[1]', 'b');
    await after.complete('page[0]', 'a');
    expect(after.call('z').input).toEqual({ all: ['a', 'b'] });
    after.scheduler.declareForEach({ in: '$list', as: 'n', actions: [action('more')] }, CAUSE);
    expect(after.state.actions.has('foreach_2')).toBe(true);
  });

  test('a loop that was cut off makes what is missing, with the items it had', async () => {
    const before = inTurn({ outside: { list: [1, 2, 3] } });
    before.scheduler.declareForEach(
      { in: '$list', as: 'n', actions: [action('page', { parameters: { n: '$n' } })] },
      CAUSE,
    );
    const cut = before.events.findIndex(
      (event) => event.type === 'action.declared' && event.action.id === 'page[1]',
    );
    const after = stage({ events: before.events.slice(0, cut), outside: { list: [9] } });
    after.scheduler.restore(after.state);
    expect(after.calls.map(({ id, input }) => [id, input.n])).toEqual([
      ['page[0]', 1],
      ['page[1]', 2],
      ['page[2]', 3],
    ]);
    for (const id of ['page[2]', 'page[0]', 'page[1]']) await after.complete(id, id);
    expect(after.scheduler.resolveReference('$page')).toEqual({
      state: 'value',
      value: ['page[0]', 'page[1]', 'page[2]'],
      id: 'page',
      rest: '',
    });
  });

  test('tries that failed before it count', async () => {
    const before = inTurn();
    before.declare('a', { retry: 1 });
    await before.fail('a');
    const after = restart(before, { targets });
    await after.settle();
    await after.fail('a');
    expect(after.story().slice(-2)).toEqual(['started a 2', 'failed a boom']);
  });

  test('a rollback knows the order of completion', async () => {
    const before = inTurn();
    for (const id of ['a', 'b', 'c']) before.declare(id, { compensate: { name: 'undo' } });
    for (const id of ['b', 'c', 'a']) await before.complete(id);
    const after = restart(before);
    const done = after.scheduler.rollback('c', CAUSE);
    await after.settle();
    await after.complete('undo_a');
    await after.complete('undo_c');
    expect(await done).toEqual({ undone: ['a', 'c'], left: [] });
  });

  test('a compensation that was completed counts, one that was interrupted is not run again', async () => {
    const before = inTurn();
    for (const id of ['a', 'b']) before.declare(id, { compensate: { name: 'pay' } });
    await before.complete('a');
    await before.complete('b');
    void before.scheduler.rollback(undefined, CAUSE);
    await before.settle();
    await before.complete('undo_b');
    const cut = before.events.findIndex((event) => event.type === 'action.compensated');
    const after = restart({ ...before, events: before.events.slice(0, cut) }, { targets });
    expect(after.story().at(-1)).toBe('compensated b undo_b');
    const interrupted = restart(before, { targets });
    expect(interrupted.story().at(-1)).toBe('interrupted undo_a');
    expect(await interrupted.scheduler.rollback(undefined, CAUSE)).toEqual({ undone: [], left: ['a'] });
  });

  test('an undoing that goes on there is not begun anew when all is cancelled, or let go of', async () => {
    const before = inTurn();
    before.declare('a', { compensate: { name: 'undo' } });
    await before.complete('a');
    before.declare('b', { on_error: 'fail' });
    await before.fail('b');
    for (const end of ['cancel', 'release'] as const) {
      const after = restart(before);
      await after.settle(); // the rollback waits for what it finds under way
      expect(after.running()).toEqual(['undo_a']);
      const stopped = after.scheduler[end]('enough');
      after.call('undo_a').reject(new RuntimeError('aborted', 'It was stopped.'));
      await stopped;
      await after.settle();
      expect(after.story().filter((told) => told.startsWith('declared undo'))).toEqual(['declared undo_a']);
      expect(after.running()).toEqual([]);
    }
  });

  test('a session that was being ended by on_error: fail is ended', async () => {
    const before = inTurn();
    before.declare('a', { compensate: { name: 'undo' } });
    await before.complete('a');
    before.declare('b', { on_error: 'fail' });
    await before.fail('b');
    const after = restart(before);
    expect(after.fatal).toEqual([]);
    await after.complete('undo_a');
    expect(after.fatal).toMatchObject([{ id: 'b', error: { code: 'boom' } }]);
  });
});
