import { describe, expect, test } from 'vitest';
import { GRACE_MS } from '../../src/scheduler/attempt.ts';
import { restart, stage } from './stage.ts';

describe('cancel', () => {
  test('ends what waits at once and what runs when it has stopped', async () => {
    const s = stage({ parallelActions: 1 });
    s.declare('a');
    s.declare('b');
    s.declare('c', { depends_on: ['a'] });
    s.declare('d', { depends_on: ['later'] });
    let stopped = false;
    const stopping = s.scheduler.cancel('enough').then(() => {
      stopped = true;
    });
    expect(s.call('a').signal.reason).toMatchObject({ code: 'cancelled', message: 'enough' });
    expect(s.story().slice(-3)).toEqual(['cancelled b', 'cancelled c', 'cancelled d']);
    await s.settle();
    expect(stopped).toBe(false);
    await s.complete('a', 'anyway');
    await stopping;
    expect(s.story().at(-1)).toBe('cancelled a');
    expect(s.events.at(-1)).toMatchObject({ reason: 'enough' });
    expect(s.scheduler.tracked()).toEqual([]);
  });

  test('does not wait for ever for a target that does not stop', async () => {
    const s = stage();
    s.declare('a');
    const stopping = s.scheduler.cancel('enough');
    await s.clock.advance(GRACE_MS);
    await stopping;
    expect(s.story().at(-1)).toBe('cancelled a');
    expect(s.clock.pending).toBe(0);
  });

  test('nothing starts after it', async () => {
    const s = stage();
    await s.scheduler.cancel('enough');
    s.declare('a');
    s.scheduler.declareForEach({ in: '$x', as: 'item', actions: [] }, { stream: 's', seq: 0, depth: 0 });
    s.scheduler.turnEnded('well');
    expect(s.story()).toEqual(['declared a', 'cancelled a', 'declared foreach_1', 'cancelled foreach_1']);
    expect(s.ended).toEqual(['a', 'foreach_1']);
  });

  test('an action that waits for its commit is never called', async () => {
    const s = stage({ manualCommit: true, targets: { pay: { idempotent: false } }, parallelActions: 1 });
    s.declare('a', { name: 'pay' });
    await s.scheduler.cancel('enough', ['a']);
    await s.commit();
    expect(s.running()).toEqual([]);
    expect(s.story()).toEqual(['declared a', 'started a', 'cancelled a']);
    s.declare('b');
    expect(s.running()).toEqual(['b']);
  });

  test('an action that rests between tries is not tried again', async () => {
    const s = stage();
    s.declare('a', { retry: 3 });
    await s.fail('a');
    await s.scheduler.cancel('enough', ['a']);
    expect(s.story().at(-1)).toBe('cancelled a');
    expect(s.clock.pending).toBe(0);
  });

  test('during the grace of a time-out there is no further try', async () => {
    const s = stage();
    s.declare('a', { retry: 3, timeout: 1 });
    await s.clock.advance(1000);
    const stopping = s.scheduler.cancel('enough', ['a']);
    await s.fail('a');
    await stopping;
    expect(s.story().at(-1)).toBe('cancelled a');
  });

  test('of a group is of all in it', async () => {
    const s = stage();
    s.declare('a', { group: 'g' });
    s.declare('b', { group: 'g', depends_on: ['a'] });
    s.declare('c');
    const stopping = s.scheduler.cancel('enough', ['g']);
    await s.fail('a');
    await stopping;
    expect(s.running()).toEqual(['c']);
    expect(s.story().filter((line) => line.startsWith('cancelled'))).toEqual(['cancelled b', 'cancelled a']);
  });

  test('a target that cancels while it is called is stopped', async () => {
    const s = stage({
      perform: ({ signal }) => {
        s.scheduler.cancel('by itself');
        return signal.aborted
          ? Promise.resolve(1)
          : new Promise((_, reject) => signal.addEventListener('abort', reject));
      },
    });
    s.declare('a');
    await s.settle();
    expect(s.story()).toEqual(['declared a', 'started a', 'cancelled a']);
  });
});

describe('abandon', () => {
  test('stops everything without a word, and the next process takes over', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'] });
    s.declare('c', { retry: 1 });
    await s.fail('c');
    const before = s.story();
    let stopped = false;
    const stopping = s.scheduler.release().then(() => {
      stopped = true;
    });
    expect(s.call('a').signal.reason).toMatchObject({ code: 'cancelled' });
    await s.settle();
    expect(stopped).toBe(false);
    await s.complete('a');
    await stopping;
    expect(s.story()).toEqual(before);
    expect(s.clock.pending).toBe(0);
    const after = restart(s);
    await after.complete('a');
    expect(after.running()).toContain('b');
  });
});

describe('on_error: fail', () => {
  test('cancels the rest, undoes what was done, then says so', async () => {
    const s = stage();
    s.declare('book', { compensate: { name: 'unbook', parameters: { id: '$book.id' } } });
    await s.complete('book', { id: 7 });
    s.declare('a', { on_error: 'fail' });
    s.declare('b');
    s.declare('c', { depends_on: ['b'] });
    await s.fail('a');
    expect(s.fatal).toEqual([]);
    expect(s.call('b').signal.aborted).toBe(true);
    await s.fail('b');
    expect(s.call('undo_book').input).toEqual({ id: 7 });
    expect(s.fatal).toEqual([]);
    await s.complete('undo_book');
    expect(s.fatal).toMatchObject([{ id: 'a', error: { code: 'boom' } }]);
    expect(s.story().slice(-7)).toEqual([
      'failed a boom',
      'cancelled c',
      'cancelled b',
      'declared undo_book',
      'started undo_book',
      'completed undo_book',
      'compensated book undo_book',
    ]);
    s.declare('late');
    expect(s.story().at(-1)).toBe('cancelled late');
  });

  test('comes after the retries', async () => {
    const s = stage();
    s.declare('a', { on_error: 'fail', retry: 1 });
    await s.fail('a');
    expect(s.fatal).toEqual([]);
    await s.clock.advance(250);
    await s.fail('a');
    expect(s.fatal).toMatchObject([{ id: 'a' }]);
  });

  test('a cancel while it undoes has the last word', async () => {
    const s = stage();
    s.declare('book', { compensate: { name: 'unbook' } });
    await s.complete('book');
    s.declare('a', { on_error: 'fail' });
    await s.fail('a');
    const stopping = s.scheduler.cancel('enough');
    await s.fail('undo_book');
    await stopping;
    await s.settle();
    expect(s.fatal).toEqual([]);
    expect(s.story().at(-1)).toBe('cancelled undo_book');
  });
});

describe('rollback', () => {
  const cause = { stream: 's', seq: 0, depth: 0 };
  const undoable = { compensate: { name: 'undo', parameters: {} } };

  test('undoes in the reverse order of completion, one after another, down to and with the one named', async () => {
    const s = stage();
    for (const id of ['a', 'b', 'c', 'd']) s.declare(id, id === 'd' ? {} : undoable);
    for (const id of ['c', 'a', 'd', 'b']) await s.complete(id);
    const done = s.scheduler.rollback('a', cause);
    await s.settle();
    expect(s.running()).toEqual(['undo_b']);
    await s.complete('undo_b');
    expect(s.running()).toEqual(['undo_a']);
    await s.complete('undo_a');
    expect(await done).toEqual({ undone: ['b', 'a'], left: [] });
    expect(s.state.actions.get('c')?.status).toBe('completed');
  });

  test('a compensation that fails is recorded and the rest goes on; the next rollback tries it again', async () => {
    const s = stage();
    s.declare('a', undoable);
    s.declare('b', undoable);
    await s.complete('a');
    await s.complete('b');
    const first = s.scheduler.rollback(undefined, cause);
    await s.settle();
    await s.fail('undo_b');
    await s.complete('undo_a');
    expect(await first).toEqual({ undone: ['a'], left: ['b'] });
    const second = s.scheduler.rollback(undefined, cause);
    await s.settle();
    await s.complete('undo_b_2');
    expect(await second).toEqual({ undone: ['b'], left: [] });
    expect(s.story().at(-1)).toBe('compensated b undo_b_2');
  });

  test('to one that did not succeed undoes what was declared behind it, and nothing before', async () => {
    const s = stage();
    for (const id of ['a', 'b', 'c', 'd']) s.declare(id, undoable);
    await s.complete('d');
    await s.fail('b');
    await s.complete('c');
    await s.complete('a');
    const done = s.scheduler.rollback('b', cause);
    await s.settle();
    expect(s.running()).toEqual(['undo_c']);
    await s.complete('undo_c');
    await s.complete('undo_d');
    expect(await done).toEqual({ undone: ['c', 'd'], left: [] });
    expect(s.state.actions.get('a')?.status).toBe('completed');
  });

  test('a compensation is an action of its own kind, with its time-out, retries, key and parameters', async () => {
    const s = stage({ outside: { who: 'Ann' } });
    s.declare('a', {
      compensate: {
        type: 'relic',
        name: 'book',
        parameters: { of: '$a.id', who: '$who' },
        timeout: 7,
        retry: 1,
        output_key: 'undone',
        if: 'actions.a.output.id == 4',
      },
    });
    await s.complete('a', { id: 4 });
    const done = s.scheduler.rollback(undefined, cause);
    await s.settle();
    expect(s.call('undo_a').action).toMatchObject({ kind: 'relic', name: 'book', mode: 'async' });
    expect(s.call('undo_a').input).toEqual({ of: 4, who: 'Ann' });
    await s.fail('undo_a');
    await s.clock.advance(125);
    await s.clock.advance(6_999);
    expect(s.call('undo_a').signal.aborted).toBe(false);
    await s.clock.advance(1);
    expect(s.call('undo_a').signal.aborted).toBe(true);
    await s.fail('undo_a');
    expect(await done).toEqual({ undone: [], left: ['a'] });
    const again = s.scheduler.rollback(undefined, cause);
    await s.settle();
    await s.complete('undo_a_2', 'gone');
    expect(await again).toEqual({ undone: ['a'], left: [] });
    expect(s.scheduler.resolveReference('$undone')).toEqual({
      state: 'value',
      value: 'gone',
      id: 'undo_a_2',
      rest: '',
    });
  });

  test('a compensation whose if does not hold is not run, and nothing counts as undone', async () => {
    const s = stage();
    s.declare('a', { compensate: { name: 'undo', if: 'actions.a.output.id == 4' } });
    await s.complete('a', { id: 5 });
    expect(await s.scheduler.rollback(undefined, cause)).toEqual({ undone: [], left: ['a'] });
    expect(s.story().at(-1)).toBe('skipped undo_a if');
  });

  test('a compensation with on_error: retry is tried three times more, and one with fail ends nothing', async () => {
    const s = stage();
    s.declare('a', { compensate: { name: 'undo', on_error: 'retry' } });
    s.declare('b', { compensate: { name: 'undo', on_error: 'fail' } });
    await s.complete('a');
    await s.complete('b');
    const done = s.scheduler.rollback(undefined, cause);
    await s.settle();
    await s.fail('undo_b');
    for (let n = 0; n < 3; n++) {
      await s.fail('undo_a');
      await s.clock.advance(30_000);
    }
    await s.complete('undo_a');
    expect(await done).toEqual({ undone: ['a'], left: ['b'] });
    expect(s.fatal).toEqual([]);
  });

  test('a compensation of type context_feed is an internal action, one without a type a tool', async () => {
    const s = stage();
    s.declare('a', { compensate: { type: 'context_feed', name: 'remove_context_feed' } });
    s.declare('b', { compensate: { name: 'undo' } });
    await s.complete('a');
    await s.complete('b');
    void s.scheduler.rollback(undefined, cause);
    await s.settle();
    expect(s.call('undo_b').action.kind).toBe('tool');
    await s.complete('undo_b');
    expect(s.call('undo_a').action.kind).toBe('internal');
  });

  test('to an action nobody knows is refused', async () => {
    const s = stage();
    await expect(s.scheduler.rollback('nope', cause)).rejects.toMatchObject({ code: 'rollback_unknown' });
  });

  test('an action that rolls back does not wait for its own place', async () => {
    const s = stage({ parallelActions: 1 });
    s.declare('a', undoable);
    await s.complete('a');
    s.declare('r', { kind: 'internal', name: 'rollback' });
    const done = s.scheduler.rollback(undefined, cause);
    await s.settle();
    expect(s.running()).toEqual(['r', 'undo_a']);
    await s.complete('undo_a');
    expect(await done).toEqual({ undone: ['a'], left: [] });
  });

  test('compensations obey parallel_actions', async () => {
    const s = stage({ parallelActions: 1 });
    s.declare('a', undoable);
    await s.complete('a');
    s.declare('b');
    const done = s.scheduler.rollback(undefined, cause);
    await s.settle();
    expect(s.running()).toEqual(['b']);
    await s.complete('b');
    await s.complete('undo_a');
    expect(await done).toEqual({ undone: ['a'], left: [] });
  });

  test('what undoes an action means its own output by its output_key, whoever has that name by now', async () => {
    const s = stage();
    const book = {
      output_key: 'order',
      compensate: { name: 'cancel', parameters: { id: '$order.id' } },
    };
    for (const id of ['a', 'b', 'c']) {
      s.declare(id, id === 'c' ? { output_key: 'order' } : book);
      await s.complete(id, { id: `of ${id}` });
    }
    const done = s.scheduler.rollback(undefined, cause);
    await s.settle();
    expect(s.call('undo_b').input).toEqual({ id: 'of b' });
    await s.complete('undo_b');
    expect(s.call('undo_a').input).toEqual({ id: 'of a' });
    await s.complete('undo_a');
    expect(await done).toEqual({ undone: ['b', 'a'], left: [] });
  });

  test('that is stopped, or whose session is cancelled, begins to undo no further one', async () => {
    for (const how of ['stopped', 'cancelled']) {
      const s = stage();
      for (const id of ['a', 'b']) {
        s.declare(id, undoable);
        await s.complete(id);
      }
      const stopping = new AbortController();
      const done = s.scheduler.rollback(undefined, cause, { by: 'r', signal: stopping.signal });
      await s.settle();
      if (how === 'stopped') stopping.abort();
      else void s.scheduler.cancel('enough');
      await s.complete('undo_b');
      expect((await done).undone).toEqual(how === 'stopped' ? ['b'] : []);
      expect(s.story(), how).not.toContain('declared undo_a');
      expect(s.scheduler.tracked()).toEqual([]);
    }
  });

  test('waits for one that was asked for before it', async () => {
    const s = stage();
    for (const id of ['a', 'b']) {
      s.declare(id, undoable);
      await s.complete(id);
    }
    const both = [s.scheduler.rollback(undefined, cause), s.scheduler.rollback(undefined, cause)];
    await s.settle();
    await s.fail('undo_b');
    expect(s.running()).toEqual(['undo_a']);
    await s.complete('undo_a');
    expect(s.running()).toEqual(['undo_b_2']);
    await s.complete('undo_b_2');
    expect(await Promise.all(both)).toEqual([
      { undone: ['a'], left: ['b'] },
      { undone: ['b'], left: [] },
    ]);
  });

  test('an undone action is no good dependency any more', async () => {
    const s = stage();
    s.declare('a', undoable);
    await s.complete('a');
    const done = s.scheduler.rollback('a', cause);
    await s.settle();
    await s.complete('undo_a');
    await done;
    s.declare('b', { depends_on: ['a'] });
    expect(s.story().at(-1)).toBe('skipped b dependency a');
  });
});
