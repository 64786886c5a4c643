import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/kernel/runtime-error.ts';
import { CAUSE, stage } from './stage.ts';

describe('parameters', () => {
  test('a variable that names an action is a dependency and becomes its output', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { parameters: { whole: '$a', part: 'got $a.n', price: '$$5' } });
    expect(s.running()).toEqual(['a']);
    await s.complete('a', { n: 3 });
    expect(s.call('b').input).toEqual({ whole: { n: 3 }, part: 'got 3', price: '$5' });
  });

  test('an output_key that was declared and is not there yet is waited for', async () => {
    const s = stage();
    s.declare('a', { output_key: 'report' });
    s.declare('b', { parameters: { x: '$report' } });
    expect(s.running()).toEqual(['a']);
    await s.complete('a', 'text');
    expect(s.call('b').input).toEqual({ x: 'text' });
  });

  test('an output_key goes before an action id, an id before what is known outside, that before a target', async () => {
    const s = stage({ outside: { a: 'outside', v: 'variable', tool: 'variable' } });
    s.declare('a');
    s.declare('k', { output_key: 'a' });
    s.declare('t', { name: 'tool' });
    s.declare('u', { name: 'other' });
    await s.complete('a', 'by id');
    await s.complete('t', 'by target');
    await s.complete('u', 'by target');
    s.declare('x', { parameters: { a: '$a', v: '$v', tool: '$tool', other: '$other' } });
    await s.complete('k', 'by key');
    expect(s.call('x').input).toEqual({ a: 'by key', v: 'variable', tool: 'variable', other: 'by target' });
  });

  test('a target called twice names nothing', async () => {
    const s = stage();
    s.declare('a', { name: 'search' });
    s.declare('b', { name: 'search' });
    await s.complete('a');
    await s.complete('b');
    s.declare('c', { parameters: { x: '$search' } });
    expect(s.call('c').input).toEqual({ x: '$search' });
  });

  test('the first call of a target does not find itself by its name', () => {
    const s = stage();
    s.declare('a', { name: 'search', parameters: { q: '$search' } });
    expect(s.call('a').input).toEqual({ q: '$search' });
  });

  test('the last action declared under an output_key counts, whichever completes last', async () => {
    const s = stage();
    s.declare('a', { output_key: 'k' });
    s.declare('b', { output_key: 'k' });
    s.declare('x', { parameters: { k: '$k' } });
    s.declare('c', { output_key: 'k' });
    await s.complete('c', 'c');
    await s.complete('b', 'b');
    expect(s.call('x').input).toEqual({ k: 'b' });
  });

  test('so it does for a response, however long the others take; one that failed leaves the name to them', async () => {
    const s = stage();
    for (const id of ['a', 'b', 'c']) s.declare(id, { output_key: 'k' });
    await s.fail('c');
    await s.complete('b', 'b');
    await s.complete('a', 'a');
    expect(s.scheduler.resolve('$k')).toEqual({ state: 'value', value: 'a', id: 'a', rest: '' });
    for (const id of ['d', 'e']) s.declare(id, { output_key: 'k' });
    await s.complete('e', 'e');
    await s.complete('d', 'd');
    expect(s.scheduler.resolve('$k')).toEqual({ state: 'value', value: 'e', id: 'e', rest: '' });
  });

  test('an action may take the value its own output_key had before', async () => {
    const s = stage();
    s.declare('a', { output_key: 'draft' });
    s.declare('b', { output_key: 'draft', parameters: { text: '$draft' } });
    await s.complete('a', 'first');
    expect(s.call('b').input).toEqual({ text: 'first' });
    await s.complete('b', 'second');
    expect(s.scheduler.resolve('$draft')).toEqual({ state: 'value', value: 'second', id: 'b', rest: '' });
  });

  test('an unknown name stays as it is written, with one fault, and the action runs', () => {
    const s = stage();
    s.declare('a', { parameters: { x: '$nope and $nope and $no_more', y: 'costs $5' } });
    expect(s.call('a').input).toEqual({ x: '$nope and $nope and $no_more', y: 'costs $5' });
    expect(s.story()).toEqual(['declared a', 'fault unknown_variable', 'started a']);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message: expect.stringContaining('with $nope, $no_more as written'),
    });
  });

  test('a part that a value does not have is told apart from a name that nobody knows', async () => {
    const s = stage({ outside: { list: [1, { deep: {} }], text: 'x' } });
    s.declare('a');
    await s.complete('a', { n: { m: null }, constructor: 1 });
    s.declare('b', { parameters: { x: '$a.n.m.o $a.x $list[2] $list[1].deep.er $text.y $nope.z' } });
    const [fault] = s.events.filter(({ type }) => type === 'fault');
    expect(fault).toMatchObject({
      message:
        'Action "b" was run with $nope.z as written: no output_key, action, feed, variable, metadata field or target called once has that name. Write $$ for a dollar sign. And with $a.n.m.o ($a.n.m is null), $a.x ($a has n, constructor), $list[2] ($list is a list of 2), $list[1].deep.er ($list[1].deep is empty), $text.y ($text is a text) as written: there is no such part in the value.',
    });
  });

  test('of many unknown names ten are listed, each once, and the rest counted', () => {
    const s = stage();
    const names = Array.from({ length: 12 }, (_, n) => `$nope${n}`);
    s.declare('a', { parameters: { x: [...names, '$nope0'] } });
    const [fault] = s.events.filter(({ type }) => type === 'fault');
    expect(fault).toMatchObject({ message: expect.stringContaining('$nope8, $nope9 and 2 more as written') });
    s.declare('b', { parameters: { x: names.slice(0, 10) } });
    expect(s.events.filter(({ type }) => type === 'fault').at(-1)).toMatchObject({
      message: expect.stringContaining('$nope8, $nope9 as written'),
    });
  });

  test('a name that is declared while the action still waits for something else is waited for, too', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'], parameters: { x: '$c' } });
    s.declare('c');
    await s.complete('a');
    expect(s.running()).toEqual(['c']);
    await s.complete('c', 7);
    expect(s.call('b').input).toEqual({ x: 7 });
  });

  test('a name that turns out to wait for the action itself names nothing', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { depends_on: ['a'], parameters: { x: '$c' } });
    s.declare('c', { depends_on: ['b'] });
    await s.complete('a');
    expect(s.call('b').input).toEqual({ x: '$c' });
    await s.complete('b');
    expect(s.running()).toEqual(['c']);
  });

  test('a variable of a failed action skips', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { parameters: { x: 'see $a' } });
    await s.fail('a');
    expect(s.story().at(-1)).toBe('skipped b dependency a');
  });

  test('of a name with hyphens the longest reading that is known counts', async () => {
    const s = stage();
    s.declare('count');
    s.declare('x', { parameters: { n: '$count-1' } });
    expect(s.running()).toEqual(['count']);
    await s.complete('count', 4);
    expect(s.call('x').input).toEqual({ n: '4-1' });
  });

  test('parameters that cannot be resolved are a failure without a try', () => {
    let deep: object = { x: '$a' };
    for (let i = 0; i < 70; i++) deep = { deep };
    const s = stage({ outside: { a: 1 } });
    s.declare('a', { parameters: deep as never, retry: 3 });
    let abyss: object = {};
    for (let i = 0; i < 100_000; i++) abyss = { deep: abyss };
    s.declare('b', { parameters: abyss as never });
    expect(s.story()).toEqual([
      'declared a',
      'failed a bad_parameters',
      'declared b',
      'failed b bad_parameters',
    ]);
  });
});

describe('what a reference of a response stands for', () => {
  test('a value, with what of it is text', async () => {
    const s = stage();
    s.declare('a');
    await s.complete('a', { n: [1, 2] });
    expect(s.scheduler.resolve('$a.n[1]')).toEqual({ state: 'value', value: 2, id: 'a', rest: '' });
    expect(s.scheduler.resolve('$a.n-x')).toEqual({ state: 'value', value: [1, 2], id: 'a', rest: '-x' });
    expect(s.scheduler.resolve('$a.nope')).toEqual({ state: 'unknown' });
  });

  test('an action that has not ended, or has not ended well', async () => {
    const s = stage();
    s.declare('a', { output_key: 'k' });
    s.declare('b', { depends_on: ['a'] });
    expect(s.scheduler.resolve('$k.x')).toEqual({ state: 'pending', id: 'a', rest: '' });
    await s.fail('a', new RuntimeError('boom', 'It broke.'));
    const error = { code: 'boom', message: 'It broke.', retryable: false };
    expect(s.scheduler.resolve('$k.x')).toEqual({ state: 'failed', id: 'a', error, rest: '' });
    expect(s.scheduler.resolve('$b')).toMatchObject({
      state: 'failed',
      id: 'b',
      error: { code: 'skipped', message: '"b" was skipped (dependency: a).' },
    });
  });

  test('nothing', () => {
    const s = stage({ outside: { v: 0 } });
    expect(s.scheduler.resolve('$nope')).toEqual({ state: 'unknown' });
    expect(s.scheduler.resolve('nope')).toEqual({ state: 'unknown' });
    expect(s.scheduler.resolve('$v')).toEqual({ state: 'value', value: 0, rest: '' });
  });
});

describe('if', () => {
  test('is asked when the dependencies have succeeded', async () => {
    const s = stage({ context: { metadata: { n: 2 }, vars: {}, agent: {} } });
    s.declare('a');
    s.declare('b', { depends_on: ['a'], if: 'actions.a.output.ok && metadata.n == 2' });
    s.declare('c', { depends_on: ['a'], if: 'actions.a.status == "running"' });
    s.declare('d', { depends_on: ['c'] });
    await s.complete('a', { ok: true });
    expect(s.running()).toEqual(['b']);
    expect(s.story().slice(-2)).toEqual(['skipped c if', 'skipped d dependency c']);
  });

  test('a broken test skips and says what is wrong with it', () => {
    const s = stage();
    s.declare('a', { if: 'metadata.' });
    s.declare('b', { if: 'metadata.nope' });
    const skipped = s.events.filter(({ type }) => type === 'action.skipped');
    expect(skipped).toMatchObject([
      { reason: 'if', because: expect.any(String) },
      { reason: 'if', because: expect.stringContaining('nope') },
    ]);
  });

  test('sees why an action failed, and no error where it did not', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b');
    await s.fail('a', new RuntimeError('boom', 'It broke.'));
    await s.complete('b', 1);
    s.declare('y', { if: 'actions.a.status == "failed" && actions.a.error.code == "boom"' });
    s.declare('z', { if: 'has(actions.b.error) || has(actions.a.output)' });
    expect(s.running()).toEqual(['y']);
  });

  test('sees a foreach by the ids of its actions: running, then completed with all outputs, or failed', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    const page = { kind: 'tool', mode: 'async', parameters: {} } as const;
    const loop = (id: string) =>
      s.scheduler.loop({ in: '$list', as: 'item', actions: [{ ...page, id, name: `t_${id}` }] }, CAUSE);
    loop('good');
    loop('bad');
    s.declare('early', { if: 'actions.good.status == "running" && actions.bad.status == "running"' });
    await s.complete('good[0]', 'x');
    s.declare('half', { if: 'actions.good.status == "running" && !has(actions.good.output)' });
    await s.complete('good[1]', 'y');
    await s.fail('bad[1]');
    s.declare('all', { if: 'actions.good.status == "completed" && actions.good.output == ["x", "y"]' });
    s.declare('first', { if: 'actions.bad.status == "failed"' });
    expect(s.running()).toEqual(['bad[0]', 'early', 'half', 'all', 'first']);
  });

  test('can walk over all actions', async () => {
    const s = stage();
    s.declare('a');
    await s.complete('a');
    s.declare('b', { if: 'actions.exists(id, actions[id].status == "completed")' });
    expect(s.running()).toEqual(['b']);
  });
});
