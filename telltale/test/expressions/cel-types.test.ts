import { describe, expect, it } from 'vitest';
import { outcome, run } from './run-cel.ts';

const context = {
  metadata: { status: 'CODING', ratio: 0.5, context: { phase: 'x' } },
  vars: { list: [1, 2, 3] },
  when: '2026-01-31T12:30:45.250Z',
};

describe('what is equal', () => {
  it.each<[string, unknown]>([
    ['{"a": 1, "b": [2]} == {"b": [2.0], "a": 1.0}', true],
    ['{"a": 1} == {"a": 2}', false],
    ['{"a": 1} == {"b": 1}', false],
    ['{"a": 1} == {"a": 1, "b": 1}', false],
    ['{"a": 1, "b": 1} == {"a": 1}', false],
    ['metadata.context == {"phase": "y"}', false],
    ['{"phase": "x"} == metadata.context', true],
    ['{"other": "x"} == metadata.context', false],
    ['[1, 2] == [1]', false],
    ['[1] == [1, 2]', false],
    ['[1, 2] == [2, 1]', false],
    ['[1] == {"0": 1}', false],
    ['{"0": 1} == [1]', false],
    ['[1] == 1', false],
    ['1 == [1]', false],
    ['"a" == ["a"]', false],
    ['["a"] == "a"', false],
    ['{} == []', false],
    ['null == 0', false],
    ['0 == null', false],
    ['null == []', false],
    ['[] == null', false],
    ['false == null', false],
    ['true == 1', false],
    ['1 == true', false],
    ['1 != 2', true],
    ['[1] != [1]', false],
    ['timestamp(60) == timestamp("1970-01-01T00:01:00Z")', true],
    ['timestamp(0) == timestamp(1)', false],
    ['timestamp(0) == duration("0s")', false],
    ['duration("0s") == timestamp(0)', false],
    ['duration("60s") == duration("1m")', true],
    ['duration("1s") == duration("2s")', false],
    ['type(1) == type(2)', true],
    ['type(timestamp(0)) == timestamp && type(duration("1s")) == duration && type(type(1)) == type', true],
    ['type(vars.list) == list && type([]) == list && type({}) == map', true],
    ['type(1) == type("")', false],
    ['type(1) == "int"', false],
    ['type(1) == {"name": "int"}', false],
    ['0.0 / 0.0 == 0.0 / 0.0', false],
  ])('%s: %s', (source, expected) => {
    expect(outcome(source, context)).toBe(expected);
  });
});

describe('conversions', () => {
  it.each<[string, unknown]>([
    ['int(5)', 5],
    ['int("+5") - int("-5")', 10],
    ['int("5+")', '!bad_value'],
    ['int(1.0 / 0.0)', '!bad_value'],
    ['int(1e30)', '!out_of_range'],
    ['int("9223372036854775808")', '!out_of_range'],
    ['int(true)', '!bad_value'],
    ['int(["5"])', '!bad_value'],
    ['int(timestamp("1970-01-01T00:00:01.900Z"))', 1],
    ['int(timestamp("1969-12-31T23:59:59.500Z"))', -1],
    ['type(double(3)) == double && double(3) / 2 == 1.5', true],
    ['double(1.5)', 1.5],
    ['double("-.5") + double("+2.") + double("1E2")', 101.5],
    ['double("x")', '!bad_value'],
    ['double("")', '!bad_value'],
    ['double(" 1")', '!bad_value'],
    ['double("0x10")', '!bad_value'],
    ['double(true)', '!bad_value'],
    ['double(["1"])', '!bad_value'],
    ['string("a")', 'a'],
    ['string(timestamp(0))', '1970-01-01T00:00:00.000Z'],
    ['string(duration("1m30s"))', '90s'],
    ['string(null)', '!bad_value'],
    ['bool(true) && !bool(false) && !bool("false")', true],
    ['bool("TRUE")', '!bad_value'],
    ['bool(1)', '!bad_value'],
    ['timestamp(timestamp(5)) == timestamp(5)', true],
    ['timestamp(1.5) - timestamp(0)', '1.5s'],
    ['timestamp("2026-01-31T12:00:00+02:00") == timestamp("2026-01-31T10:00:00Z")', true],
    ['timestamp("2026-01-31T12:00:00")', '!bad_value'],
    ['timestamp("2026-01-31")', '!bad_value'],
    ['timestamp("2026-02-30T12:00:00Z")', '!bad_value'],
    ['timestamp("2023-02-29T12:00:00Z")', '!bad_value'],
    ['timestamp("2024-02-29T12:00:00Z")', '2024-02-29T12:00:00.000Z'],
    ['timestamp("at 2026-01-31T12:00:00Z")', '!bad_value'],
    ['timestamp("2026-01-31T12:00:00Z!")', '!bad_value'],
    ['timestamp(true)', '!bad_value'],
    ['timestamp(8640000000000)', '+275760-09-13T00:00:00.000Z'],
    ['timestamp(8640000000001)', '!bad_value'],
    ['timestamp(8640000000000) + duration("1s")', '!out_of_range'],
    ['duration(duration("5s"))', '5s'],
    ['duration(5)', '!wrong_type'],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toBe(expected);
  });

  it('that fail name the function and what it was given', () => {
    const message = (source: string) => {
      const result = run(source, context);
      return result.ok ? undefined : result.error.message;
    };
    expect(['int("x")', 'double([])', 'string(null)', 'bool(1)', 'timestamp("x")'].map(message)).toEqual([
      'int() cannot convert the string "x".',
      'double() cannot convert a list.',
      'string() cannot convert null.',
      'bool() cannot convert an int.',
      'timestamp() cannot read "x".',
    ]);
  });
});

describe('arithmetic and order', () => {
  it.each<[string, unknown]>([
    ['5 - 7', -2],
    ['5.5 - 7', -1.5],
    ['5.5 % 2', 1.5],
    ['5 % 0', '!bad_value'],
    ['-metadata.ratio', -0.5],
    ['-"a"', '!wrong_type'],
    ['-duration("5s")', '-5s'],
    ['9223372036854775807 == 9223372036854775806 + 1', true],
    ['-9223372036854775807 - 1 < 0', true],
    ['-9223372036854775807 - 2', '!out_of_range'],
    ['duration("1m") + duration("1s")', '61s'],
    ['duration("1m") - duration("1s")', '59s'],
    ['timestamp(0) + duration("1m") == timestamp(60)', true],
    ['duration("1m") + timestamp(0) == timestamp(60)', true],
    ['duration("1m") - timestamp(0)', '!wrong_type'],
    ['timestamp(0) + timestamp(0)', '!wrong_type'],
    ['[1] + "a"', '!wrong_type'],
    ['"a" - "b"', '!wrong_type'],
    ['1 in {"1": 1}', '!wrong_type'],
    ['"a" in {"a": null}', true],
    ['"a" in 5', '!wrong_type'],
    ['[1] in [[2], [1.0]]', true],
    ['5 in []', false],
    ['-9223372036854775807 - 2 < 0', '!out_of_range'],
    ['"a" - 1', '!wrong_type'],
    ['"a" + 1', '!wrong_type'],
    ['1 + [1]', '!wrong_type'],
    ['1 + duration("1s")', '!wrong_type'],
    ['duration("1s") + 1', '!wrong_type'],
    ['1 - duration("1s")', '!wrong_type'],
    ['duration("1s") - 1', '!wrong_type'],
    ['timestamp(0) - 1', '!wrong_type'],
    ['1 < "a"', '!wrong_type'],
    ['"a" < true', '!wrong_type'],
    ['1 < true', '!wrong_type'],
    ['1 > timestamp(0)', '!wrong_type'],
    ['timestamp(0) > 1', '!wrong_type'],
    ['duration("1s") < 1', '!wrong_type'],
    ['1 < duration("1s")', '!wrong_type'],
    ['1 <= 1 && 1 >= 1 && !(1 < 1) && !(1 > 1)', true],
    ['1 <= 1.5 && 1.5 >= 1 && 1 < 1.5 && 1.5 > 1', true],
    ['"b" > "a" && "a" <= "a" && "a" >= "a" && !("a" > "b")', true],
    ['false < true && !(true < false)', true],
    ['timestamp(1) > timestamp(0) && timestamp(1) >= timestamp(1)', true],
    ['duration("2s") > duration("1s") && duration("1s") <= duration("1s")', true],
    ['timestamp(1) > duration("0s")', '!wrong_type'],
    ['[1] < [2]', '!wrong_type'],
    ['true < 1', '!wrong_type'],
    ['0.0 / 0.0 < 1.0 || 0.0 / 0.0 >= 1.0', false],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toBe(expected);
  });
});

describe('an error says what was found and what to write', () => {
  const nothing = 'Test for null first: x != null && x > 1.';
  const unconverted = 'Nothing is converted by itself: use string(x), int(x) or double(x).';
  const compared = 'Compare it: x == "…", x > 0.';
  it.each<[string, number, string, string | undefined]>([
    ['1 == 1 && null < 1', 10, '"<" does not take null and an int.', nothing],
    ['1 < null', 0, '"<" does not take an int and null.', nothing],
    ['"a" < 1', 0, '"<" does not take a string and an int.', unconverted],
    ['1 + "a"', 0, '"+" does not take an int and a string.', unconverted],
    ['[1] < [2]', 0, '"<" does not take a list and a list.', undefined],
    ['1 in {"1": 1}', 0, '"in" does not take an int and a map.', undefined],
    ['"a" in "b"', 0, '"in" was asked of a string.', 'Use text.contains(part).'],
    ['1 ? 2 : 3', 0, '"?:" needs true or false and found an int.', compared],
    ['true && 1', 8, '"&&" needs true or false and found an int.', compared],
    ['1 || false', 0, '"||" needs true or false and found an int.', compared],
    ['vars.list.all(x, x)', 17, 'all() needs true or false and found an int.', compared],
    ['vars.list.length', 10, '"length" was asked of a list.', 'Use size().'],
    ['vars.list.map(x, x.y)', 19, '"y" was asked of an int.', 'Only maps have keys.'],
    ['vars.list["a"]', 0, '"a" was asked of a list.', 'Only maps have keys.'],
    [
      'vars.list[1.0]',
      0,
      'a list cannot be indexed with a double.',
      'A list takes an int, a map takes a string.',
    ],
    ['when[0]', 0, 'a string cannot be indexed with an int.', 'A list takes an int, a map takes a string.'],
    [
      '1 + vars.list[5]',
      4,
      'Index 5 is outside a list of 3.',
      'Indexes run from 0 to size() - 1; test size() first.',
    ],
    [
      'metadata.context.k',
      17,
      'There is no key "k" here.',
      'Keys: phase. Test for a key that may be missing with has().',
    ],
    ['1 + zz', 4, 'Unknown name "zz".', 'Names: metadata, vars, when.'],
    ['1 + (-"a")', 5, 'a string cannot be negated.', 'A minus sign takes a number.'],
    ['true && !1', 8, '"!" was applied to an int.', 'Compare it first: !(x == 1).'],
    ['{"a": 1, 2: 3}', 9, 'A map has an int as a key.', 'Keys are strings; write {"name": value}.'],
    ['true && size(5) > 1', 8, 'size() was asked of an int.', 'It takes a string, list or map.'],
    ['"a" + "b".substring("c")', 10, 'substring() takes ints.', 'Write text.substring(0, 3).'],
    ['["a", 1.regex("b")]', 14, 'A string was needed and an int found.', 'Use string(x).'],
    [
      '9223372036854775807 * 9223372036854775807',
      0,
      'The int 850705917302346158473969… does not fit into 64 bits.',
      'Use double(x).',
    ],
  ])('%s', (source, offset, message, hint) => {
    const result = run(source, context);
    expect(result.ok ? undefined : result.error).toMatchObject({ offset, message });
    expect(result.ok ? undefined : result.error.hint).toBe(hint);
  });

  it('of the keys it names the first twenty, of the names the first fifty', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));
    const hint = (source: string, given: Record<string, unknown>) => {
      const result = run(source, given);
      return result.ok ? undefined : result.error.hint;
    };
    expect(hint('a.other', { a: many(25) })).toContain('n18, n19. Test');
    expect(hint('other', many(55))).toMatch(/n48, n49\.$/);
  });
});

describe('parts of a time', () => {
  it.each<[string, unknown]>([
    ['getFullYear', 2026],
    ['getMonth', 0],
    ['getDate', 31],
    ['getDayOfMonth', 30],
    ['getDayOfWeek', 6],
    ['getHours', 12],
    ['getMinutes', 30],
    ['getSeconds', 45],
    ['getMilliseconds', 250],
  ])('%s of a timestamp is %i', (name, expected) => {
    expect(outcome(`timestamp(when).${name}()`, context)).toBe(expected);
    expect(outcome(`"x".${name}()`, context)).toBe('!wrong_type');
  });

  it.each<[string, unknown]>([
    ['getHours', 1],
    ['getMinutes', 90],
    ['getSeconds', 5_445],
    ['getMilliseconds', 5_445_500],
    ['getFullYear', '!wrong_type'],
    ['getDayOfWeek', '!wrong_type'],
  ])('%s of a duration: %s, all of it counted in that unit', (name, expected) => {
    expect(outcome(`duration("1h30m45.5s").${name}()`, context)).toBe(expected);
  });
});

describe('functions of texts', () => {
  it.each<[string, unknown]>([
    ['"abc".contains("d") || "abc".startsWith("b") || "abc".endsWith("b")', false],
    ['"abc".indexOf("d")', -1],
    ['"abc".substring(3)', ''],
    ['"abc".substring(1, 1)', ''],
    ['"abc".substring(0, 3)', 'abc'],
    ['"abc".substring(0, 4)', '!out_of_range'],
    ['"abc".substring(-1)', '!out_of_range'],
    ['"abc".substring(2, 1)', '!out_of_range'],
    ['"abc".substring(1.0)', '!wrong_type'],
    ['"abc".substring(0, 1.0)', '!wrong_type'],
    ['"a--b".split("--")', ['a', 'b']],
    ['"ab".split("ab")', ['', '']],
    ['"ab".split("x")', ['ab']],
    ['"ab".join()', '!wrong_type'],
    ['[].join("-")', ''],
    ['["a"].join(1)', '!wrong_type'],
    ['1.contains("a")', '!wrong_type'],
    ['"a".contains(1)', '!wrong_type'],
    ['1.trim()', '!wrong_type'],
    ['"a".regex(["a"][0])', true],
    ['"a".regex(["b"][0])', false],
    ['"a".regex([1][0])', '!wrong_type'],
    ['size(5)', '!wrong_type'],
    ['size("") + size([]) + size({})', 0],
  ])('%s', (source, expected) => {
    expect(outcome(source, context)).toEqual(expected);
  });
});

describe('has()', () => {
  it.each<[string, unknown]>([
    ['has(vars.list[0])', true],
    ['has(vars.list[-1])', false],
    ['cel.bind(l, [5], has(l[0]))', true],
    ['cel.bind(l, [5], has(l[1]))', false],
    ['has(vars.list["0"])', false],
    ['has(vars.list[0.0])', false],
    ['cel.bind(m, {"a": 1}, has(m.a))', true],
    ['cel.bind(m, {"a": 1}, has(m.b))', false],
    ['cel.bind(m, {"a": 1}, has(m["a"]) && !has(m["b"]))', true],
    ['has(metadata.context["phase"])', true],
    ['has(metadata.context[0])', false],
    ['has(metadata.status[0])', false],
    ['has(absent[0].x)', false],
  ])('%s: %s', (source, expected) => {
    expect(outcome(source, context)).toBe(expected);
  });
});
