import { describe, expect, test } from 'vitest';
import type { DeclaredAction } from '../../src/log/action.ts';
import { CAUSE, restart, type Stage, stage } from './stage.ts';

const action = (id: string, fields: Partial<DeclaredAction> = {}): DeclaredAction => ({
  id,
  kind: 'tool',
  mode: 'async',
  name: `t_${id}`,
  parameters: {},
  ...fields,
});

const loop = (s: Stage, list: string, ...actions: readonly DeclaredAction[]) =>
  s.scheduler.declareForEach({ in: list, as: 'item', actions }, CAUSE);

describe('foreach', () => {
  test('runs each action once per item, as soon as the list is there', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$list.items', action('page', { parameters: { url: '$item.url' } }));
    expect(s.running()).toEqual(['list']);
    await s.complete('list', { items: [{ url: 'u0' }, { url: 'u1' }] });
    expect(s.calls.map(({ id, input }) => [id, input])).toEqual([
      ['page[0]', { url: 'u0' }],
      ['page[1]', { url: 'u1' }],
    ]);
    expect(s.state.actions.get('page[1]')?.action).toMatchObject({
      base: 'page',
      index: 1,
      locals: { item: { url: 'u1' } },
    });
    expect(s.state.actions.get('foreach_1')).toMatchObject({
      status: 'completed',
      output: { ids: ['page[0]', 'page[1]'] },
      input: { in: [{ url: 'u0' }, { url: 'u1' }] },
    });
  });

  test('takes a list that stands in the tag as JSON', async () => {
    const s = stage();
    loop(s, '["u0", {"url": "$u1"}]', action('page', { parameters: { url: '$item' } }));
    expect(s.calls.map(({ id, input }) => [id, input])).toEqual([
      ['page[0]', { url: 'u0' }],
      ['page[1]', { url: { url: '$u1' } }],
    ]);
    await s.complete('page[0]', 1);
    await s.complete('page[1]', 2);
    s.declare('both', { parameters: { all: '$page' } });
    expect(s.call('both').input).toEqual({ all: [1, 2] });
  });

  test('a sibling is the one of the same round, in depends_on and in variables', async () => {
    const s = stage({ outside: { list: ['x', 'y'] } });
    loop(
      s,
      '$list',
      action('sum', { depends_on: ['get'], parameters: { text: '$text', of: '$item' } }),
      action('get', { output_key: 'text' }),
    );
    expect(s.running()).toEqual(['get[0]', 'get[1]']);
    await s.complete('get[1]', 'second');
    expect(s.call('sum[1]').input).toEqual({ text: 'second', of: 'y' });
    expect(s.running()).toEqual(['get[0]', 'sum[1]']);
  });

  test('from outside its id means all of them, in order', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    loop(s, '$list', action('page', { output_key: 'texts' }));
    s.declare('a', { depends_on: ['page'] });
    s.declare('b', { parameters: { all: '$page', last: '$page[1]', key: '$texts' } });
    await s.complete('page[1]', 'two');
    expect(s.scheduler.resolveReference('$page')).toEqual({ state: 'pending', id: 'page', rest: '' });
    expect(s.running()).toEqual(['page[0]']);
    await s.complete('page[0]', 'one');
    expect(s.running()).toEqual(['a', 'b']);
    expect(s.call('b').input).toEqual({ all: ['one', 'two'], last: 'two', key: ['one', 'two'] });
    expect(s.scheduler.resolveReference('$page[0]')).toEqual({
      state: 'value',
      value: 'one',
      id: 'page',
      rest: '',
    });
  });

  test('one that is named before it is made is waited for, also by its own id', async () => {
    const s = stage();
    s.declare('list');
    s.declare('a', { depends_on: ['page'] });
    loop(s, '$list', action('page'));
    s.declare('b', { depends_on: ['page[0]'] });
    s.scheduler.turnEnded('well');
    await s.complete('list', [1]);
    await s.complete('page[0]');
    expect(s.running()).toEqual(['a', 'b']);
  });

  test('a failure in it skips what waits for all, naming it', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    loop(s, '$list', action('page'));
    s.declare('a', { parameters: { x: '$page' } });
    await s.fail('page[1]');
    expect(s.story().at(-1)).toBe('skipped a dependency page[1]');
    expect(s.scheduler.resolveReference('$page')).toMatchObject({ state: 'failed', error: { code: 'boom' } });
  });

  test('an empty list gives an empty list', () => {
    const s = stage({ outside: { list: [] } });
    loop(s, '$list', action('page'));
    s.declare('a', { parameters: { x: '$page' } });
    expect(s.call('a').input).toEqual({ x: [] });
    expect(s.state.actions.get('foreach_1')?.output).toEqual({ ids: [] });
  });

  test.each([
    ['$text', 'is a string, not a list'],
    ['$object', 'is an object, not a list'],
    ['$object.nope', 'names nothing: $object is empty.'],
    ['text', 'is a string, not a list'],
    ['$long', 'would make 1001 actions'],
  ])('a list that is none (%s) fails it, tells the model and skips what depends on it', (list, message) => {
    const s = stage({ outside: { text: 'a,b', object: {}, long: Array(1001).fill(0) } });
    loop(s, list, action('page'));
    s.declare('a', { depends_on: ['page'] });
    expect(s.story()).toEqual([
      'declared foreach_1',
      'fault bad_list',
      'failed foreach_1 bad_list',
      'declared a',
      'skipped a dependency foreach_1',
    ]);
    expect(s.state.actions.get('foreach_1')?.error?.message).toContain(message);
  });

  test('a thousand items, and ten thousand actions, are the most it takes', () => {
    const ten = Array.from({ length: 10 }, (_, n) => action(`a${n}`));
    const most = stage({ outside: { list: Array(1000).fill(0) }, parallelActions: 1 });
    loop(most, '$list', ...ten);
    expect(most.state.actions.size).toBe(10_001);
    const less = stage({ outside: { list: Array(910).fill(0) }, parallelActions: 1 });
    loop(less, '$list', ...ten, action('b'));
    expect(less.state.actions.get('foreach_1')?.error?.message).toContain('would make 10010 actions');
  });

  test('whose actions are all fire_and_forget is not tracked either; one other action makes it so', () => {
    const s = stage();
    s.declare('list');
    const forgotten = action('a', { mode: 'fire_and_forget' });
    loop(s, '$list', forgotten);
    expect(s.scheduler.tracked()).toEqual(['list']);
    loop(s, '$list', { ...forgotten, id: 'b' }, action('c'));
    expect(s.scheduler.tracked()).toEqual(['list', 'foreach_2']);
  });

  test('what it makes after its turn has ended waits for no id that nobody declared', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$list', action('page', { depends_on: ['never'] }), action('text', { depends_on: ['page'] }));
    s.scheduler.turnEnded('well');
    s.declare('next', { depends_on: ['later'] });
    await s.complete('list', [1]);
    expect(s.story().filter((line) => line.startsWith('skipped'))).toEqual([
      'skipped page[0] unknown_dependency never',
      'skipped text[0] dependency page[0]',
    ]);
    s.declare('later');
    await s.complete('later');
    expect(s.running()).toEqual(['next']);
  });

  test('made in its turn, it waits for an id that is declared later', async () => {
    const s = stage({ outside: { list: [1] } });
    loop(s, '$list', action('page', { depends_on: ['later'] }));
    s.declare('later');
    await s.complete('later');
    expect(s.running()).toEqual(['page[0]']);
  });

  test('how long it took is counted from when its list was there', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$list', action('page'));
    await s.clock.advance(5_000);
    await s.complete('list', [1]);
    expect(s.events.findLast(({ type }) => type === 'action.completed')).toMatchObject({
      id: 'foreach_1',
      ms: 0,
      attempts: 1,
    });
  });

  test('a list that failed skips it and what depends on it', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$list', action('page'));
    s.declare('a', { depends_on: ['page'] });
    await s.fail('list');
    expect(s.story().slice(-2)).toEqual(['skipped foreach_1 dependency list', 'skipped a dependency list']);
  });

  test('the variables of its actions are none of its own', () => {
    const s = stage({ outside: { list: [1] } });
    s.declare('slow');
    loop(s, '$list', action('page', { parameters: { x: '$slow' } }));
    expect(s.state.actions.get('foreach_1')?.status).toBe('completed');
    expect(s.running()).toEqual(['slow']);
  });

  test('takes no place of parallel_actions, what it makes does', () => {
    const s = stage({ parallelActions: 1, outside: { list: [1, 2] } });
    s.declare('a');
    loop(s, '$list', action('page'));
    expect(s.state.actions.get('foreach_1')?.status).toBe('completed');
    expect(s.running()).toEqual(['a']);
    expect(s.scheduler.tracked()).toEqual(['a', 'page[0]', 'page[1]']);
  });

  test('a parallel around it is over when all it made has ended', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$list', action('page', { group: 'g' }));
    let closed = false;
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => {
      closed = true;
    });
    await s.complete('list', [1]);
    expect(closed).toBe(false);
    await s.complete('page[0]');
    expect(closed).toBe(true);
  });

  test('a parallel around it is over when it failed, or was cancelled', async () => {
    const s = stage();
    s.declare('list');
    loop(s, '$nope', action('page', { group: 'g' }));
    loop(s, '$list', action('text', { group: 'h' }));
    const over: string[] = [];
    for (const id of ['g', 'h']) s.scheduler.parallelClosed(id);
    for (const id of ['g', 'page', 'h', 'text']) s.scheduler.whenAllEnded([id], () => over.push(id));
    expect(over).toEqual(['g', 'page']);
    await s.scheduler.cancel('enough', ['text']);
    expect(over).toEqual(['g', 'page', 'text', 'h']);
    expect(s.story().at(-1)).toBe('cancelled foreach_2');
  });

  test('made after its turn broke off, targets of the turn’s end are skipped', async () => {
    const s = stage({ targets: { mail: { start: 'on_turn_end' } } });
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail' }));
    s.scheduler.turnEnded('broken');
    await s.complete('list', [1]);
    expect(s.story().at(-2)).toBe('skipped send[0] turn_failed');
  });

  test('an id in it that is taken does not run, and the others do', () => {
    const s = stage({ outside: { list: [1] } });
    s.declare('page');
    loop(s, '$list', action('page'), action('text'));
    expect(s.running()).toEqual(['page', 'text[0]']);
    expect(s.story()).toContain('fault duplicate_id');
    expect(s.state.actions.has('page[0]')).toBe(false);
  });

  test('if can see the item', () => {
    const s = stage({ outside: { list: [1, 5] } });
    loop(s, '$list', action('page', { if: 'item > 3' }));
    expect(s.running()).toEqual(['page[1]']);
  });

  test('what undoes an action of it takes the output_keys of its round for those of this round', async () => {
    const s = stage({ outside: { list: ['x', 'y'] } });
    const compensate = { name: 'unbook', parameters: { id: '$order.id', guest: '$guest' } };
    loop(
      s,
      '$list',
      action('ask', { output_key: 'guest' }),
      action('book', { depends_on: ['ask'], output_key: 'order', compensate }),
    );
    for (const round of [0, 1]) {
      await s.complete(`ask[${round}]`, `guest ${round}`);
      await s.complete(`book[${round}]`, { id: round });
    }
    const done = s.scheduler.rollback('book', CAUSE);
    await s.settle();
    expect(s.call('undo_book[1]').input).toEqual({ id: 1, guest: 'guest 1' });
    await s.complete('undo_book[1]');
    expect(s.call('undo_book[0]').input).toEqual({ id: 0, guest: 'guest 0' });
    await s.complete('undo_book[0]');
    await done;
  });

  test('what undoes an action of it sees its item and its round', async () => {
    const s = stage({ outside: { list: ['x', 'y'] } });
    loop(
      s,
      '$list',
      action('book', { compensate: { name: 'unbook', parameters: { id: '$book.id', of: '$item' } } }),
    );
    await s.complete('book[0]', { id: 10 });
    await s.complete('book[1]', { id: 11 });
    const done = s.scheduler.rollback('book', CAUSE);
    await s.settle();
    expect(s.call('undo_book[1]').input).toEqual({ id: 11, of: 'y' });
    await s.complete('undo_book[1]');
    expect(s.call('undo_book[0]').input).toEqual({ id: 10, of: 'x' });
    await s.complete('undo_book[0]');
    expect(await done).toEqual({ undone: ['book[1]', 'book[0]'], left: [] });
  });
});

describe('a foreach whose list is declared behind it', () => {
  const page = action('page', { parameters: { of: '$item' } });

  test.each([
    ['its id', '$list', 'list', {}],
    ['its output_key', '$urls', 'list', { output_key: 'urls' }],
    ['its target', '$search', 'list', { name: 'search' }],
  ])('waits for it, by %s', async (_, name, id, fields) => {
    const s = stage();
    loop(s, name, page);
    s.declare('other');
    expect(s.story()).toEqual(['declared foreach_1', 'declared other', 'started other']);
    s.declare(id, fields);
    s.scheduler.turnEnded('well');
    await s.complete(id, ['x', 'y']);
    expect(s.calls.map((call) => [call.id, call.input])).toEqual([
      ['other', {}],
      ['page[0]', { of: 'x' }],
      ['page[1]', { of: 'y' }],
    ]);
  });

  test('takes the one that had the name first, whatever is declared under it later', async () => {
    const s = stage();
    loop(s, '$urls', page);
    s.declare('a', { output_key: 'urls' });
    s.declare('b', { output_key: 'urls' });
    await s.complete('a', ['x']);
    expect(s.call('page[0]').input).toEqual({ of: 'x' });
  });

  test('waits for what another foreach makes, in the same way', async () => {
    const s = stage({ outside: { two: [1, 2] } });
    loop(s, '$got', page);
    loop(s, '$two', action('get', { output_key: 'got' }));
    await s.complete('get[0]', 'x');
    await s.complete('get[1]', 'y');
    expect(s.call('page[1]').input).toEqual({ of: 'y' });
  });

  test('goes on where the name is set outside, at once if it is told, else when the turn has ended', () => {
    const outside: Record<string, number[]> = {};
    const s = stage({ outside });
    loop(s, '$told', page);
    loop(s, '$untold', action('late'));
    outside.told = [1];
    outside.untold = [1];
    s.scheduler.valuesSet({ told: [1], other: 1 }, CAUSE);
    expect(s.running()).toEqual(['page[0]']);
    s.scheduler.turnEnded('well');
    expect(s.running()).toEqual(['page[0]', 'late[0]']);
  });

  test('holds no action that comes behind it, also no sync one', async () => {
    const s = stage();
    loop(s, '$list', page);
    s.declare('a', { mode: 'sync' });
    await s.complete('a');
    s.declare('list', { mode: 'sync' });
    await s.complete('list', [1]);
    expect(s.running()).toEqual(['page[0]']);
  });

  test.each([
    ['well', 'in="$list" names nothing.'],
    ['broken', 'in="$list" names nothing, as far as the turn went before it broke off.'],
  ] as const)('fails where its turn ends %s without one, and takes none of a later turn', (how, message) => {
    const s = stage();
    loop(s, '$list', page);
    s.declare('a', { depends_on: ['page'] });
    s.scheduler.turnEnded(how);
    s.declare('list');
    expect(s.story()).toEqual([
      'declared foreach_1',
      'declared a',
      'fault bad_list',
      'failed foreach_1 bad_list',
      'skipped a dependency foreach_1',
      'declared list',
      'started list',
    ]);
    expect(s.state.actions.get('foreach_1')?.error?.message).toBe(message);
  });

  test('is skipped, and the model told, where that is skipped or fails', async () => {
    const s = stage();
    s.declare('no');
    await s.fail('no');
    loop(s, '$list', page);
    s.declare('list', { depends_on: ['no'] });
    loop(s, '$more', action('text'));
    s.declare('more');
    await s.fail('more');
    expect(s.story().filter((line) => /fault|skipped/.test(line))).toEqual([
      'skipped list dependency no',
      'fault bad_list',
      'skipped foreach_1 dependency no',
      'fault bad_list',
      'skipped foreach_2 dependency more',
    ]);
  });

  test('that waits for what it makes is a deadlock, and the next that waits for it is skipped', () => {
    const s = stage();
    loop(s, '$list', page);
    loop(s, '$list', action('text'));
    s.declare('list', { depends_on: ['page'] });
    expect(s.story().slice(3)).toEqual([
      'fault deadlock',
      'skipped foreach_1 deadlock foreach_1 → list → page → foreach_1',
      'skipped list dependency foreach_1',
      'fault bad_list',
      'skipped foreach_2 dependency foreach_1',
    ]);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message: expect.stringContaining(
        'A <foreach> was skipped, and none of its actions ran: its list waits',
      ),
    });
  });

  test('is a deadlock in a parallel that closes before it comes, and for a sync action that waits for its rounds', () => {
    const s = stage();
    loop(s, '$list', { ...page, group: 'g' });
    let closed = false;
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => {
      closed = true;
    });
    expect(closed).toBe(true);
    loop(s, '$more', action('text'));
    s.declare('a', { mode: 'sync', depends_on: ['text'] });
    expect(s.story()).toEqual([
      'declared foreach_1',
      'fault deadlock',
      'skipped foreach_1 deadlock list',
      'declared foreach_2',
      'declared a',
      'fault deadlock',
      'skipped a deadlock more',
    ]);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message: expect.stringContaining('Declare "list" first, or leave the <foreach> out of <parallel>.'),
    });
  });

  test('that needs its rounds and holds the stream waits for itself', () => {
    const s = stage();
    loop(s, '$list', page);
    s.declare('list', { mode: 'sync', depends_on: ['page'] });
    expect(s.story().slice(2)).toEqual([
      'fault deadlock',
      'skipped list deadlock list → list',
      'fault bad_list',
      'skipped foreach_1 dependency list',
    ]);
  });

  test('is looked for outside before the stream waits for its rounds', async () => {
    const outside: Record<string, number[]> = {};
    const s = stage({ outside });
    loop(s, '$untold', page);
    outside.untold = [1];
    s.declare('a', { mode: 'sync', depends_on: ['page'] });
    await s.complete('page[0]');
    await s.complete('a');
    loop(s, '$more', action('text', { group: 'g' }));
    outside.more = [1];
    s.scheduler.parallelClosed('g');
    s.scheduler.whenAllEnded(['g'], () => undefined);
    expect(s.running()).toEqual(['text[0]']);
    expect(s.story().filter((line) => /fault|skipped/.test(line))).toEqual([]);
  });

  test('that is only the name of a parallel says so', () => {
    const s = stage();
    loop(s, '$g', page);
    s.declare('a', { group: 'g' });
    s.scheduler.turnEnded('well');
    expect(s.state.actions.get('foreach_1')?.error?.message).toBe(
      'in="$g" names nothing: "g" is a <parallel>, whose actions have values of their own.',
    );
  });

  test('that turns out to have no such part is told apart from one that never came', async () => {
    const s = stage();
    loop(s, '$list.items', page);
    s.declare('list');
    await s.complete('list', { entries: [1] });
    expect(s.state.actions.get('foreach_1')?.error?.message).toBe(
      'in="$list.items" names nothing: $list has entries.',
    );
  });

  test('cancelled while it waits, it ends and takes nothing', async () => {
    const s = stage();
    loop(s, '$list', page);
    await s.scheduler.cancel('enough', ['page']);
    s.declare('list');
    await s.complete('list', [1]);
    s.scheduler.turnEnded('well');
    expect(s.story()).toEqual([
      'declared foreach_1',
      'cancelled foreach_1',
      'declared list',
      'started list',
      'completed list',
    ]);
  });

  test.each([
    ['ran', false],
    ['had ended', true],
  ])('waits for it, or has it, after a restart where it %s', async (_, ended) => {
    const before = stage();
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    loop(before, '$urls', page);
    before.declare('list', { output_key: 'urls' });
    // The process dies before the end of the list has moved the loop on.
    if (ended) before.append({ type: 'action.completed', id: 'list', output: ['x'], ms: 1, attempts: 1 });
    const s = restart(before);
    s.scheduler.turnEnded('broken');
    if (!ended) await s.complete('list', ['x']);
    expect(s.call('page[0]').input).toEqual({ of: 'x' });
  });

  test.each([
    ['is over', true],
    ['was cut short', false],
  ])('takes the first that has the name after a restart, too, where its turn %s', async (_, over) => {
    const before = stage();
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    loop(before, '$urls', page);
    before.declare('a', { output_key: 'urls' });
    before.declare('b', { output_key: 'urls' });
    if (over) {
      const usage = { input: 1, output: 1 };
      before.append({ type: 'turn.completed', usage, cost_usd: 0, ms: 1, first_token_ms: 1, finish: 'stop' });
      before.scheduler.turnEnded('well');
    }
    const s = restart(before);
    s.scheduler.turnEnded(over ? 'well' : 'broken');
    await s.complete('a', ['x']);
    expect(s.call('page[0]').input).toEqual({ of: 'x' });
  });

  test('fails after a restart, too, where nothing has the name and its turn is over', async () => {
    const before = stage();
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    loop(before, '$urls', page);
    before.append({
      type: 'turn.completed',
      usage: { input: 1, output: 1 },
      cost_usd: 0,
      ms: 1,
      first_token_ms: 1,
      finish: 'stop',
    });
    const s = restart(before);
    await s.settle();
    expect(s.story().at(-1)).toBe('failed foreach_1 bad_list');
  });
});

describe('where the stream waits for what a foreach makes, and that would wait for the end of the turn', () => {
  const targets = { mail: { start: 'on_turn_end' } } as const;
  const skips = (s: Stage) => s.story().filter((line) => line.startsWith('skipped'));
  const over = (s: Stage, id: string) => {
    const told: string[] = [];
    s.scheduler.parallelClosed(id);
    s.scheduler.whenAllEnded([id], () => told.push(id));
    return told;
  };

  test('a parallel that closed before the list was there ends it as a deadlock when it is made', async () => {
    const s = stage({ targets });
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail', group: 'g' }));
    const told = over(s, 'g');
    await s.complete('list', [1]);
    expect(skips(s)).toEqual(['skipped send[0] deadlock send[0]']);
    expect(told).toEqual(['g']);
  });

  test('a parallel that closes later ends the rounds that are left, also where one of them has failed', async () => {
    const s = stage({ targets, outside: { list: [1, 2, 3] } });
    const send = { name: 'mail', group: 'g', depends_on: ['page'] };
    loop(s, '$list', action('page', { group: 'g' }), action('send', send));
    await s.fail('page[0]');
    const told = over(s, 'g');
    expect(skips(s)).toEqual([
      'skipped send[0] dependency page[0]',
      'skipped send[1] deadlock send[1]',
      'skipped send[2] deadlock send[2]',
    ]);
    await s.complete('page[1]');
    await s.complete('page[2]');
    expect(told).toEqual(['g']);
  });

  test('what in it waits for something that runs is not ended with the rest', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    s.declare('slow');
    loop(s, '$list', action('page', { group: 'g', depends_on: ['slow'], parameters: { of: '$item' } }));
    s.declare('never', { group: 'g', depends_on: ['later'] });
    const told = over(s, 'g');
    expect(skips(s)).toEqual(['skipped never deadlock later']);
    await s.complete('slow');
    await s.complete('page[0]');
    await s.complete('page[1]');
    expect(told).toEqual(['g']);
  });

  test('a sync action that waits for all it makes is the one that is ended, and what was made starts in its time', async () => {
    const s = stage({ targets });
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail' }));
    s.declare('a', { mode: 'sync', depends_on: ['send'] });
    await s.complete('list', [1]);
    expect(skips(s)).toEqual(['skipped a deadlock send[0]']);
    s.scheduler.turnEnded('well');
    expect(s.running()).toEqual(['send[0]']);
  });

  test('so is one with a variable that has come to name what was made', async () => {
    const s = stage({ targets, parallelActions: 1 });
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail' }));
    s.declare('a', { mode: 'sync', parameters: { sent: '$mail' } });
    await s.complete('list', [1]);
    expect(skips(s)).toEqual(['skipped a deadlock send[0]']);
  });

  test('once it waits no more, nothing else is ended for that', async () => {
    const s = stage({ targets });
    s.declare('a', { mode: 'sync' });
    await s.complete('a');
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail' }));
    s.declare('b', { depends_on: ['send'] });
    await s.complete('list', [1]);
    s.scheduler.turnEnded('well');
    await s.complete('send[0]');
    expect(s.running()).toEqual(['b']);
  });

  test('what waited in an earlier turn counts no more', async () => {
    const s = stage({ targets });
    s.declare('slow');
    s.declare('a', { mode: 'sync', depends_on: ['slow'] });
    s.scheduler.turnEnded('broken');
    s.declare('list');
    loop(s, '$list', action('send', { name: 'mail' }));
    await s.complete('list', [1]);
    expect(skips(s)).toEqual([]);
  });
});
