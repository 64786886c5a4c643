import { describe, expect, it } from 'vitest';
import { evaluateTest } from '../../src/expressions/cel/evaluate.ts';
import { outcome, parsed, run } from './run-cel.ts';

const context = {
  metadata: {
    status: 'CODING',
    score: 3,
    ratio: 0.5,
    nothing: null,
    tags: ['a', 'b'],
    context: { phase: 'x' },
  },
  vars: { list: [1, 2, 3], people: [{ name: 'Ann', age: 41 }, { name: 'Bob' }] },
  huge: 2 ** 60,
  when: '2026-01-31T12:30:45.250Z',
};

describe('values', () => {
  it.each<[string, unknown]>([
    ['1 + 2 * 3', 7],
    ['metadata.score + 1', 4],
    ['metadata.score / 2', 1],
    ['metadata.score / 2.0', 1.5],
    ['metadata.ratio * 2', 1],
    ['metadata.ratio + metadata.score', 3.5],
    ['7 % 4', 3],
    ['-metadata.score', -3],
    ['-9223372036854775808 < 0', true],
    ['9223372036854775807 + 1', '!out_of_range'],
    ['9007199254740993', '!out_of_range'],
    ['string(9007199254740993)', '9007199254740993'],
    ['1 / 0', '!bad_value'],
    ['1.0 / 0.0', '!bad_value'],
    ['1.0 / 0.0 > 5', true],
    ['huge > 1.0', true],
    ['1 == 1.0', true],
    ['[1, 2.0] == [1.0, 2]', true],
    ['"1" == 1', false],
    ['1 + "a"', '!wrong_type'],
    ['"a" + "b"', 'ab'],
    ['[1] + ["a"]', [1, 'a']],
    ['"a" < "b"', true],
    ['"a" < 1', '!wrong_type'],
    ['null == null', true],
    ['null < 1', '!wrong_type'],
    ['metadata.nothing == null', true],
    ['metadata.nothing.deeper', '!wrong_type'],
    ['metadata.status', 'CODING'],
    ['metadata["status"]', 'CODING'],
    ['metadata.context == {"phase": "x"}', true],
    ['metadata.context', { phase: 'x' }],
    ['vars.list[2]', 3],
    ['vars.list[3]', '!out_of_range'],
    ['vars.list[-1]', '!out_of_range'],
    ['vars.list[1.0]', '!wrong_type'],
    ['2 in vars.list', true],
    ['2.0 in vars.list', true],
    ['"status" in metadata', true],
    ['"constructor" in metadata', false],
    ['"a" in "abc"', '!wrong_type'],
    ['{"a": 1, "b": [true, null]}', { a: 1, b: [true, null] }],
    ['{1: "a"}', '!wrong_type'],
    ['true ? 1 : 2', 1],
    ['1 ? 2 : 3', '!wrong_type'],
    ['!true', false],
    ['!1', '!wrong_type'],
    ['type(1) == int && type(1.5) == double && type("") == string && type([]) == list', true],
    ['type(metadata) == map && type(null) == null_type && type(true) == bool', true],
    ['type(1)', '!not_data'],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });
});

describe('what is missing', () => {
  it.each<[string, unknown]>([
    ['metadata.absent', '!no_such_key'],
    ['absent', '!no_such_name'],
    ['has(metadata.absent)', false],
    ['has(metadata.absent.deeper.still)', false],
    ['has(metadata.status.deeper)', false],
    ['has(absent)', false],
    ['has(metadata.nothing)', true],
    ['has(metadata)', true],
    ['has(vars.list[2])', true],
    ['has(vars.list[3])', false],
    ['has(metadata["status"])', true],
    ['vars.people.filter(p, has(p.age)).map(p, p.name)', ['Ann']],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });

  it('undefined in the context is missing', () => {
    expect(outcome('has(a.b)', { a: { b: undefined } })).toBe(false);
  });

  it('the error says where, and names the nearest key', () => {
    expect(run('vars.x == 1 || metadata.stauts == "A"', context)).toMatchObject({
      error: { code: 'no_such_key', offset: 24, hint: expect.stringContaining('Did you mean "status"?') },
    });
  });

  it('and what a name without a value was meant to be', () => {
    const hint = (source: string) => run(source, context);
    expect(hint('metadata.status == CODING')).toMatchObject({
      error: { code: 'no_such_name', hint: 'A text stands in quotes: "CODING".' },
    });
    expect(hint('true == True')).toMatchObject({ error: { code: 'no_such_name', hint: 'Write true.' } });
  });
});

describe('logic takes one side that decides, even where the other fails', () => {
  it.each<[string, unknown]>([
    ['absent || true', true],
    ['true || absent', true],
    ['absent && false', false],
    ['false && absent', false],
    ['absent || false', '!no_such_name'],
    ['absent && true', '!no_such_name'],
    ['1 || true', true],
    ['1 || false', '!wrong_type'],
    ['true && 1', '!wrong_type'],
    ['[1, "a", 3].exists(x, x > 2)', true],
    ['[1, "a"].exists(x, x > 2)', '!wrong_type'],
    ['["a", 1].all(x, x > 2)', false],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });
});

describe('macros', () => {
  it.each<[string, unknown]>([
    ['vars.list.map(x, x * 2)', [2, 4, 6]],
    ['vars.list.map(x, x > 1, x * 2)', [4, 6]],
    ['vars.list.filter(x, x != 2)', [1, 3]],
    ['vars.list.exists_one(x, x > 2)', true],
    ['vars.list.exists_one(x, x > 1)', false],
    ['vars.list.all(x, x > 0)', true],
    ['[].all(x, x)', true],
    ['[].exists(x, x)', false],
    ['metadata.context.exists(key, key == "phase")', true],
    ['"abc".all(x, true)', '!wrong_type'],
    [
      'vars.list.map(x, vars.list.map(y, x * y))',
      [
        [1, 2, 3],
        [2, 4, 6],
        [3, 6, 9],
      ],
    ],
    ['vars.list.map(x, [10].map(x, x + 1)[0] + x)', [12, 13, 14]],
    ['vars.list.map(x, cel.bind(y, x + 1, [5].map(x, x + y)[0]))', [7, 8, 9]],
    ['cel.bind(x, 2, x * x)', 4],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });
});

describe('functions', () => {
  it.each<[string, unknown]>([
    ['size("a😀")', 2],
    ['size([1, 2]) + size({"a": 1}) + "ab".size()', 5],
    ['"hello".contains("ell") && "hello".startsWith("he") && "hello".endsWith("lo")', true],
    ['"hello".indexOf("l") + "hello".lastIndexOf("l")', 5],
    ['"hello".substring(1, 3) + "hello".substring(4)', 'elo'],
    ['"hello".substring(3, 9)', '!out_of_range'],
    ['"😀b".substring(1) + "😀b".substring(0, "😀b".size())', 'b😀b'],
    ['"😀b".substring(0, 3)', '!out_of_range'],
    [
      '["a😀b".indexOf("b"), "😀a😀".lastIndexOf("😀"), "😀".indexOf(""), "😀".lastIndexOf(""), "😀".indexOf("b")]',
      [2, 2, 0, 1, -1],
    ],
    ['"😀b".split("")', ['😀', 'b']],
    ['"ÀbC".lowerAscii() + "ÀbC".upperAscii()', 'ÀbcÀBC'],
    ['" a ".trim()', 'a'],
    ['"a,b,,c".split(",")', ['a', 'b', '', 'c']],
    ['"ab".split("")', ['a', 'b']],
    ['["a", "b"].join("-") + ["a", "b"].join()', 'a-bab'],
    ['[1].join()', '!wrong_type'],
    ['"fix: the bug".regex("^(fix|feat): ")', true],
    ['"abc".regex("^b")', false],
    ['"abc".regex("a" + "(")', '!bad_pattern'],
    ['1.regex("a")', '!wrong_type'],
    ['int("42") + int(3.9) + int(-3.9)', 42],
    ['int("4x")', '!bad_value'],
    ['int("0x10")', '!bad_value'],
    ['double("1.5e1")', 15],
    ['double("Infinity")', '!bad_value'],
    ['string(1) + string(1.5) + string(true)', '11.5true'],
    ['string([1])', '!bad_value'],
    ['bool("true")', true],
    ['bool("yes")', '!bad_value'],
    ['timestamp(when) > timestamp("2026-01-31T12:30:45Z")', true],
    ['timestamp(when) - duration("45m") == timestamp("2026-01-31T11:45:45.250Z")', true],
    ['timestamp(when) - timestamp("2026-01-31T11:30:45.250Z")', '3600s'],
    ['timestamp(when).getHours() + timestamp(when).getMonth()', 12],
    ['timestamp("yesterday")', '!bad_value'],
    ['timestamp("2026-02-30")', '!bad_value'],
    ['duration("1h30m").getMinutes()', 90],
    ['duration("-90s") < duration("1s")', true],
    ['duration("soon")', '!bad_value'],
    ['timestamp(0)', '1970-01-01T00:00:00.000Z'],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });
});

describe('a test', () => {
  const test = (source: string) => evaluateTest(parsed(source), context);

  it('is true or false, and nothing else counts as either', () => {
    expect(test('metadata.score > 2')).toEqual({ ok: true, value: true });
    for (const source of ['metadata.status', '0', '""', 'null', '[]'])
      expect(test(source)).toMatchObject({ ok: false, error: { code: 'not_a_test' } });
  });
});

describe('the context', () => {
  it('is not copied: a returned part is the very object', () => {
    const result = run('metadata.tags', context);
    expect(result.ok && result.value).toBe(context.metadata.tags);
  });

  it('is read lazily: what no path names is never touched', () => {
    const lazy = {
      get metadata() {
        return { status: 'A' };
      },
      get agent(): never {
        throw new Error('read');
      },
    };
    expect(outcome('metadata.status == "A"', lazy)).toBe(true);
    expect(outcome('agent.x', lazy)).toBe('!evaluation_failed');
    expect(outcome('agent.x || true', lazy)).toBe('!evaluation_failed');
  });

  it.each([
    ['a function', () => 1],
    ['a date', new Date(0)],
    ['a Map', new Map()],
    [
      'an instance of a class',
      new (class A {
        b = 1;
      })(),
    ],
    ['a symbol', Symbol('a')],
  ])('%s in it is an error, not a value', (_, value) => {
    expect(outcome('a', { a: value })).toBe('!not_data');
    expect(outcome('a.b', { a: value })).toBe('!not_data');
  });
});
