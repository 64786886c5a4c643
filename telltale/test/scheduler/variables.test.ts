import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import { CAUSE, restart, stage } from './stage.ts';

describe('parameters', () => {
  test('a variable that names an action is a dependency and becomes its output', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { parameters: { whole: '$a', part: 'got {{a.n}}', price: '$$5', text: 'see $a' } });
    expect(s.running()).toEqual(['a']);
    await s.complete('a', { n: 3 });
    expect(s.call('b').input).toEqual({ whole: { n: 3 }, part: 'got 3', price: '$$5', text: 'see $a' });
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
    s.scheduler.turnEnded('well');
    expect(s.call('c').input).toEqual({ x: '$search' });
  });

  test('the first call of a target does not find itself by its name', () => {
    const s = stage();
    s.declare('a', { name: 'search', parameters: { q: '$search' } });
    s.scheduler.turnEnded('well');
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
    expect(s.scheduler.resolveReference('$k')).toEqual({ state: 'value', value: 'a', id: 'a', rest: '' });
    for (const id of ['d', 'e']) s.declare(id, { output_key: 'k' });
    await s.complete('e', 'e');
    await s.complete('d', 'd');
    expect(s.scheduler.resolveReference('$k')).toEqual({ state: 'value', value: 'e', id: 'e', rest: '' });
  });

  test('an action may take the value its own output_key had before', async () => {
    const s = stage();
    s.declare('a', { output_key: 'draft' });
    s.declare('b', { output_key: 'draft', parameters: { text: '$draft' } });
    await s.complete('a', 'first');
    expect(s.call('b').input).toEqual({ text: 'first' });
    await s.complete('b', 'second');
    expect(s.scheduler.resolveReference('$draft')).toEqual({
      state: 'value',
      value: 'second',
      id: 'b',
      rest: '',
    });
  });

  test('an unknown name stays as it is written, with one fault, and the action runs', () => {
    const s = stage();
    s.declare('a', { parameters: { x: ['$nope', '$nope', '$no_more'], y: 'costs $5, $nope' } });
    s.scheduler.turnEnded('well');
    expect(s.call('a').input).toEqual({ x: ['$nope', '$nope', '$no_more'], y: 'costs $5, $nope' });
    expect(s.story()).toEqual(['declared a', 'fault unknown_variable', 'started a']);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      message:
        'Action "a" ran with $nope, $no_more as written: no output_key, action, feed, variable, metadata field or target called once has that name. If you meant text, give the action "literal": true.',
    });
  });

  test('a part that a value does not have is told apart from a name that nobody knows', async () => {
    const s = stage({ outside: { list: [1, { deep: {} }], text: 'x' } });
    s.declare('a');
    await s.complete('a', { n: { m: null }, constructor: 1 });
    s.declare('b', {
      parameters: { x: ['$a.n.m.o', '$a.x', '$list[2]', '$list[1].deep.er', '$text.y', '$nope.z'] },
    });
    s.scheduler.turnEnded('well');
    const [fault] = s.events.filter(({ type }) => type === 'fault');
    expect(fault).toMatchObject({
      message:
        'Action "b" ran with $nope.z as written: no output_key, action, feed, variable, metadata field or target called once has that name. And with $a.n.m.o ($a.n.m is null), $a.x ($a has n, constructor), $list[2] ($list is a list of 2), $list[1].deep.er ($list[1].deep is empty), $text.y ($text is a text) as written: there is no such part in the value. If you meant text, give the action "literal": true.',
    });
  });

  test('of many unknown names ten are listed, each once, and the rest counted', () => {
    const s = stage();
    const names = Array.from({ length: 12 }, (_, n) => `$nope${n}`);
    s.declare('a', { parameters: { x: [...names, '$nope0'] } });
    s.scheduler.turnEnded('well');
    const [fault] = s.events.filter(({ type }) => type === 'fault');
    expect(fault).toMatchObject({ message: expect.stringContaining('$nope8, $nope9 and 2 more as written') });
    s.declare('b', { parameters: { x: names.slice(0, 10) } });
    s.scheduler.turnEnded('well');
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
    s.declare('b', { parameters: { x: 'see {{a}}' } });
    s.declare('c', { parameters: { x: '$a' } });
    await s.fail('a');
    expect(s.story().slice(-2)).toEqual(['skipped b dependency a', 'skipped c dependency a']);
  });

  test('a name with hyphens is read as it is written', async () => {
    const s = stage();
    s.declare('count');
    s.declare('x', { parameters: { n: '$count-1', m: '{{count-1}}' } });
    s.scheduler.turnEnded('well');
    expect(s.call('x').input).toEqual({ n: '$count-1', m: '{{count-1}}' });
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

describe('what is known is decided when an action is declared', () => {
  test('{{name}} is text where the name comes later, and where it is no action', async () => {
    const s = stage({ outside: { v: 'variable' } });
    s.declare('slow');
    const parameters = { x: '{{later}} {{key}} {{v}} {{t_slow}} {{g}}' };
    s.declare('b', { depends_on: ['slow'], parameters });
    s.declare('later', { output_key: 'key', group: 'g' });
    await s.complete('later', 1);
    await s.complete('slow', 2);
    s.declare('c', { parameters: { x: '{{g}} {{t_later}}' } });
    expect(s.call('b').input).toEqual(parameters);
    expect(s.call('c').input).toEqual({ x: '{{g}} {{t_later}}' });
    expect(s.story()).not.toContain('fault unknown_variable');
  });

  test('so it is after a restart, whatever has been declared and has ended by then', async () => {
    const before = stage();
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    before.declare('slow');
    before.declare('early', { output_key: 'k' });
    await before.complete('early', 'E');
    const parameters = { x: '{{early}} {{k}} {{late}}', y: '$k', z: '$late' };
    before.declare('b', { depends_on: ['slow'], parameters });
    before.declare('late', { output_key: 'k' });
    await before.complete('late', 'L');
    const s = restart(before);
    s.scheduler.turnEnded('broken');
    await s.complete('slow');
    expect(s.call('b').input).toEqual({ x: 'E E {{late}}', y: 'E', z: 'L' });
  });

  test('a log that says nothing of it gives {{name}} back as text, and resolves a whole $name', async () => {
    const before = stage();
    before.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
    before.declare('a');
    await before.complete('a', 'A');
    before.append({
      type: 'action.declared',
      action: {
        id: 'b',
        kind: 'tool',
        mode: 'async',
        name: 't_b',
        parameters: { make: 'cc $< {{a}} $$x $a', value: '$a' },
      },
    });
    const s = restart(before);
    s.scheduler.turnEnded('broken');
    expect(s.call('b').input).toEqual({ make: 'cc $< {{a}} $$x $a', value: 'A' });
  });

  test('a whole $name waits for what comes later in the turn, by id, output_key or target', async () => {
    const s = stage();
    s.declare('x', { parameters: { id: '$a', key: '$k', target: '$t_c.n' } });
    expect(s.running()).toEqual([]);
    s.declare('a');
    s.declare('b', { output_key: 'k' });
    s.declare('c');
    await s.complete('a', 1);
    await s.complete('b', 2);
    expect(s.running()).toEqual(['c']);
    await s.complete('c', { n: 3 });
    expect(s.call('x').input).toEqual({ id: 1, key: 2, target: 3 });
    expect(s.story()).not.toContain('fault unknown_variable');
  });

  test('where nothing has the name at the end of the turn, the action starts with its text', () => {
    const s = stage();
    s.declare('x', { parameters: { shell: '$SHELL' } });
    expect(s.running()).toEqual([]);
    s.scheduler.turnEnded('broken');
    expect(s.call('x').input).toEqual({ shell: '$SHELL' });
    expect(s.story()).toEqual(['declared x', 'fault unknown_variable', 'started x']);
  });

  test('a variable that is set meanwhile has the name, too', () => {
    const outside: Record<string, string> = {};
    const s = stage({ outside });
    s.declare('x', { parameters: { v: '$v' } });
    outside.v = 'set';
    s.scheduler.valuesSet({ v: 'set' }, CAUSE);
    expect(s.call('x').input).toEqual({ v: 'set' });
  });

  test('a sync action does not wait for a name, since nothing can come before it has ended', () => {
    const s = stage();
    s.declare('x', { mode: 'sync', parameters: { home: '$HOME' } });
    expect(s.call('x').input).toEqual({ home: '$HOME' });
  });

  test('nor does what a sync action or the end of a parallel waits for', () => {
    const s = stage();
    s.declare('x', { parameters: { home: '$HOME', shell: '$SHELL' } });
    s.declare('y', { mode: 'sync', depends_on: ['x'] });
    expect(s.running()).toEqual(['x']);
    const t = stage();
    t.declare('x', { group: 'g', parameters: { home: '$HOME' } });
    t.declare('y', { group: 'g', parameters: { later: '$x', home: '$HOME' } });
    t.scheduler.parallelClosed('g');
    expect(t.running()).toEqual(['x']);
  });

  test('a literal action has no references and waits for nothing that looks like one', () => {
    const s = stage({ outside: { v: 1 } });
    s.declare('a', { output_key: 'k' });
    const parameters = { a: '$a', b: '{{a}} {{k}}', v: '$v', nope: '$nope' };
    s.declare('b', { literal: true, parameters });
    expect(s.call('b').input).toEqual(parameters);
    expect(s.story()).not.toContain('fault unknown_variable');
  });

  test('dependencies still count for a literal action', async () => {
    const s = stage();
    s.declare('a');
    s.declare('b', { literal: true, depends_on: ['a'], parameters: { x: '$a' } });
    expect(s.running()).toEqual(['a']);
    await s.complete('a', 1);
    expect(s.call('b').input).toEqual({ x: '$a' });
  });
});

describe("an action's own name", () => {
  test('means who had it before, also where that one is still running', async () => {
    const s = stage();
    s.declare('a', { output_key: 'draft' });
    s.declare('b', { output_key: 'draft', parameters: { whole: '$draft', text: 'was: {{draft}}' } });
    expect(s.running()).toEqual(['a']);
    await s.complete('a', 'first');
    expect(s.call('b').input).toEqual({ whole: 'first', text: 'was: first' });
  });

  test('is text where nothing had it, even if something has it later', async () => {
    const s = stage();
    s.declare('slow');
    const parameters = { id: '$b', key: '$draft', text: '{{b}} {{draft}}' };
    s.declare('b', { output_key: 'draft', depends_on: ['slow'], parameters });
    s.declare('c', { output_key: 'draft' });
    await s.complete('c', 'later');
    await s.complete('slow');
    expect(s.call('b').input).toEqual(parameters);
    expect(s.events.find(({ type }) => type === 'fault')).toMatchObject({
      code: 'unknown_variable',
      message: expect.stringContaining('$b, $draft as written: that is the name of the action itself'),
    });
  });

  test('may be that of a variable or a feed', () => {
    const s = stage({ outside: { clock: 'noon' } });
    s.declare('clock', { parameters: { now: '$clock', text: '{{clock}}' } });
    expect(s.call('clock').input).toEqual({ now: 'noon', text: '{{clock}}' });
  });

  test('means the same in what undoes it as outside: its own output', async () => {
    const s = stage();
    s.declare('old', { output_key: 'k' });
    await s.complete('old', 'old');
    const compensate = {
      name: 'undo',
      parameters: { id: '$a', key: '$k', text: '{{a}} {{k}} {{old}} {{later}}' },
    };
    s.declare('a', { output_key: 'k', compensate });
    await s.complete('a', 'new');
    s.declare('later');
    await s.complete('later', 'L');
    void s.scheduler.rollback('a', CAUSE);
    await s.settle();
    expect(s.call('undo_a').input).toEqual({ id: 'new', key: 'new', text: 'new new old {{later}}' });
  });

  test('what undoes it may be literal', async () => {
    const s = stage();
    s.declare('a', { compensate: { name: 'undo', literal: true, parameters: { id: '$a', text: '{{a}}' } } });
    await s.complete('a', 'new');
    void s.scheduler.rollback('a', CAUSE);
    await s.settle();
    expect(s.call('undo_a').input).toEqual({ id: '$a', text: '{{a}}' });
  });
});

describe('in a foreach', () => {
  const made = (id: string, parameters: JsonObject, more: Partial<DeclaredAction> = {}): DeclaredAction => ({
    id,
    kind: 'tool',
    mode: 'async',
    name: `t_${id}`,
    parameters,
    ...more,
  });

  test('{{item}} is the item, and {{name}} what was declared before the loop or earlier in its round', async () => {
    const s = stage({ outside: { list: [{ n: 1 }, { n: 2 }] } });
    s.declare('before');
    await s.complete('before', 'B');
    const text = '{{item.n}} {{before}} {{first}} {{second}} {{after}}';
    const actions = [made('first', { text }), made('second', { text }, { output_key: 'k' })];
    s.scheduler.declareForEach({ in: '$list', as: 'item', actions }, CAUSE);
    s.declare('after');
    await s.complete('after', 'A');
    expect(s.call('first[1]').input).toEqual({ text: '2 B {{first}} {{second}} {{after}}' });
    await s.complete('first[1]', 'F');
    expect(s.call('second[1]').input).toEqual({ text: '2 B F {{second}} {{after}}' });
  });

  test('what is known is decided when the loop closes, however late its list is', async () => {
    const s = stage();
    s.declare('k1', { output_key: 'k' });
    await s.complete('k1', 'one');
    s.declare('list');
    const actions = [made('page', { text: '{{k}} {{later}} {{item}}', whole: '$k' }, { output_key: 'k' })];
    s.scheduler.declareForEach({ in: '$list', as: 'item', actions }, CAUSE);
    s.declare('later', { output_key: 'k' });
    await s.complete('later', 'two');
    await s.complete('list', ['x']);
    expect(s.call('page[0]').input).toEqual({ text: 'one {{later}} x', whole: 'one' });
    const again = restart(s);
    again.scheduler.turnEnded('broken');
    expect(again.call('page[0]').input).toEqual({ text: 'one {{later}} x', whole: 'one' });
  });

  test('a round of an action does not find the other rounds under its own name', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    const actions = [made('page', { id: '$page', key: '$k', text: '{{page}} {{k}}' }, { output_key: 'k' })];
    s.scheduler.declareForEach({ in: '$list', as: 'item', actions }, CAUSE);
    const input = { id: '$page', key: '$k', text: '{{page}} {{k}}' };
    expect(s.call('page[0]').input).toEqual(input);
    expect(s.call('page[1]').input).toEqual(input);
  });

  test('all rounds stand behind the id of an action: {{page[0]}} is the first of them', async () => {
    const s = stage({ outside: { list: [1, 2] } });
    s.scheduler.declareForEach({ in: '$list', as: 'item', actions: [made('page', { of: '$item' })] }, CAUSE);
    s.declare('sum', { parameters: { all: '$page', text: '{{page[1]}} of {{page}}' } });
    expect(s.running()).toEqual(['page[0]', 'page[1]']);
    await s.complete('page[0]', 'a');
    await s.complete('page[1]', 'b');
    expect(s.call('sum').input).toEqual({ all: ['a', 'b'], text: 'b of ["a","b"]' });
  });

  test('an action of it may be literal', () => {
    const s = stage({ outside: { list: [1] } });
    const actions = [made('page', { a: '$item', b: '{{item}}' }, { literal: true })];
    s.scheduler.declareForEach({ in: '$list', as: 'item', actions }, CAUSE);
    expect(s.call('page[0]').input).toEqual({ a: '$item', b: '{{item}}' });
  });
});

describe('what a reference of a response stands for', () => {
  test('a value, with what of it is text', async () => {
    const s = stage();
    s.declare('a');
    await s.complete('a', { n: [1, 2] });
    expect(s.scheduler.resolveReference('$a.n[1]')).toEqual({ state: 'value', value: 2, id: 'a', rest: '' });
    expect(s.scheduler.resolveReference('$a.n-x')).toEqual({
      state: 'value',
      value: [1, 2],
      id: 'a',
      rest: '-x',
    });
    expect(s.scheduler.resolveReference('$a.nope')).toEqual({ state: 'unknown' });
  });

  test('an action that has not ended, or has not ended well', async () => {
    const s = stage();
    s.declare('a', { output_key: 'k' });
    s.declare('b', { depends_on: ['a'] });
    expect(s.scheduler.resolveReference('$k.x')).toEqual({ state: 'pending', id: 'a', rest: '' });
    await s.fail('a', new RuntimeError('boom', 'It broke.'));
    const error = { code: 'boom', message: 'It broke.', retryable: false };
    expect(s.scheduler.resolveReference('$k.x')).toEqual({ state: 'failed', id: 'a', error, rest: '' });
    expect(s.scheduler.resolveReference('$b')).toMatchObject({
      state: 'failed',
      id: 'b',
      error: { code: 'skipped', message: '"b" was skipped (dependency: a).' },
    });
  });

  test('nothing', () => {
    const s = stage({ outside: { v: 0 } });
    expect(s.scheduler.resolveReference('$nope')).toEqual({ state: 'unknown' });
    expect(s.scheduler.resolveReference('nope')).toEqual({ state: 'unknown' });
    expect(s.scheduler.resolveReference('$v')).toEqual({ state: 'value', value: 0, rest: '' });
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
      s.scheduler.declareForEach(
        { in: '$list', as: 'item', actions: [{ ...page, id, name: `t_${id}` }] },
        CAUSE,
      );
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
