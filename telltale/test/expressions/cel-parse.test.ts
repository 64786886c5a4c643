import { describe, expect, it } from 'vitest';
import { checkExpression } from '../../src/expressions/cel/check-expression.ts';
import { parseExpression } from '../../src/expressions/cel/parse-expression.ts';
import { parsed } from './run-cel.ts';

const refusal = (source: string) => {
  const result = parseExpression(source);
  if (result.ok) throw new Error(`"${source}" was read`);
  return result.error;
};

describe('an expression that cannot be read is answered with the place and the remedy', () => {
  it.each([
    ['status = "CODING"', 'syntax', 7, '"=" cannot stand here.', 'Write == to compare.'],
    ['a === b', 'syntax', 4, '"=" cannot stand here.', 'Write == to compare.'],
    ['a and b', 'syntax', 2, '"and" cannot stand here.', 'Write && for "and".'],
    ['vars.t == "{{x}}" and vars.b', 'syntax', 18, '"and" cannot stand here.', 'Write && for "and".'],
    [`a == '\\'{{' or b`, 'syntax', 12, '"or" cannot stand here.', 'Write || for "or".'],
    [`a == r'{{\\'' or b`, 'syntax', 13, '"or" cannot stand here.', 'Write || for "or".'],
    ['a == """"{{""" or b', 'syntax', 15, '"or" cannot stand here.', 'Write || for "or".'],
    [
      'a == "x" && {{ b }}',
      'syntax',
      17,
      '":" should stand here, not "}".',
      'Names stand without braces here: vars.name, not {{ vars.name }}.',
    ],
    ['a AND b', 'syntax', 2, '"AND" cannot stand here.', 'Write && for "and".'],
    ['a or b', 'syntax', 2, '"or" cannot stand here.', 'Write || for "or".'],
    ['a OR b', 'syntax', 2, '"OR" cannot stand here.', 'Write || for "or".'],
    ['not a', 'syntax', 4, '"a" cannot stand here.', 'Write ! for "not".'],
    ['a && NOT b', 'syntax', 9, '"b" cannot stand here.', 'Write ! for "not".'],
    ['a not in b', 'syntax', 2, '"not" cannot stand here.', 'Write ! for "not".'],
    ['knot a', 'syntax', 5, '"a" cannot stand here.', undefined],
    ['a => b', 'syntax', 2, '"=" cannot stand here.', 'Write >= to compare.'],
    ['a =< b', 'syntax', 2, '"=" cannot stand here.', 'Write <= to compare.'],
    ['a <> b', 'syntax', 3, '">" cannot stand here.', 'Write != to compare.'],
    ['a == “b”', 'syntax', 5, '"“" cannot stand here.', 'Strings stand in double or single quotes.'],
    [
      'a?.b',
      'syntax',
      2,
      '"." cannot stand here.',
      'For a value that may be missing write has(a.b) ? a.b : other.',
    ],
    ['a is b', 'syntax', 2, '"is" cannot stand here.', 'Write == to compare.'],
    ['a eq b', 'syntax', 2, '"eq" cannot stand here.', 'Write == to compare.'],
    ['`a`', 'syntax', 0, '"`" cannot stand here.', 'Strings stand in double or single quotes.'],
    ['"a\nb"', 'syntax', 2, 'A string holds a line break.', 'Write \\n, or use three quotes.'],
    ['"""abc', 'syntax', 0, 'A string is not closed.', 'Close it with the quote it began with.'],
    ['   ', 'syntax', 3, 'The expression is empty.', 'Something is missing at the end.'],
    ['a ? b', 'syntax', 5, '":" should stand here, not the end.', 'Something is missing at the end.'],
    ['[1 2]', 'syntax', 3, '"]" should stand here, not a number.', undefined],
    ['{"a" 1}', 'syntax', 5, '":" should stand here, not a number.', undefined],
    ['a & b', 'syntax', 2, '"&" cannot stand here.', 'Write && for "and".'],
    ['a | b', 'syntax', 2, '"|" cannot stand here.', 'Write || for "or".'],
    [
      '$phase == 1',
      'syntax',
      0,
      '"$" cannot stand here.',
      'Names stand without a dollar here: vars.name, not $name.',
    ],
    ['"abc', 'syntax', 0, 'A string is not closed.', 'Close it with the quote it began with.'],
    ['', 'syntax', 0, 'The expression is empty.', 'Something is missing at the end.'],
    ['a ==', 'syntax', 4, 'The expression ends too early.', 'Something is missing at the end.'],
    ['(a', 'syntax', 2, '")" should stand here, not the end.', 'Something is missing at the end.'],
    ['a.in', 'syntax', 2, 'a name should stand here, not "in".', 'Read it as a key: x["in"].'],
    ['if == 1', 'syntax', 0, '"if" is a reserved word.', 'Read it as a key: vars["if"].'],
    [
      'a.?b',
      'syntax',
      2,
      'a name should stand here, not "?".',
      'For a value that may be missing write has(a.b) ? a.b : other.',
    ],
    [
      '"\\d"',
      'syntax',
      1,
      'Invalid escape sequence: \\d.',
      'Write \\\\ for a backslash, or put r before the quote: r"\\d".',
    ],
    [
      'b"abc" == b""',
      'refused',
      0,
      'Bytes are not part of this language.',
      'Write a string without the b in front.',
    ],
    [
      '1u + 2u',
      'refused',
      0,
      'Unsigned ints are not part of this language.',
      'Write the number without the u.',
    ],
    [
      '9223372036854775808',
      'bad_literal',
      0,
      'The int 9223372036854775808 does not fit into 64 bits.',
      'Write it as a double: 1e20.',
    ],
    [
      'a.contians("x")',
      'unknown_function',
      2,
      'There is no function x.contians().',
      'Did you mean x.contains()?',
    ],
    ['sise(a)', 'unknown_function', 0, 'There is no function sise(x).', 'Did you mean size(x)?'],
    ['contains(a, "x")', 'unknown_function', 0, 'There is no function contains(x).', 'Write x.contains().'],
    ['a.size(1)', 'wrong_arguments', 2, 'size() takes 0 arguments and was given 1.', undefined],
    [
      'a.all(x)',
      'wrong_arguments',
      2,
      'all() takes a variable and a test.',
      'Write list.all(item, item > 1).',
    ],
    ['size()', 'wrong_arguments', 0, 'size() takes 1 argument and was given 0.', undefined],
    [
      '"a".substring()',
      'wrong_arguments',
      4,
      'substring() takes 1 or 2 arguments and was given 0.',
      undefined,
    ],
    ['hass(a)', 'unknown_function', 0, 'There is no function hass(x).', 'Did you mean has(x)?'],
    ['a.has(b)', 'unknown_function', 2, 'There is no function x.has().', 'Write has(x).'],
    ['a.exist(x, x)', 'unknown_function', 2, 'There is no function x.exist().', 'Did you mean x.exists()?'],
    ['a.timestamp()', 'unknown_function', 2, 'There is no function x.timestamp().', 'Write timestamp(x).'],
    [
      'foo(a)',
      'unknown_function',
      0,
      'There is no function foo(x).',
      'Known: size(x), type(x), dyn(x), bool(x), string(x), int(x), double(x), timestamp(x), duration(x), has(x).',
    ],
    [
      'a.map(x)',
      'wrong_arguments',
      2,
      'map() takes a variable and what becomes of it, with a test between them where not all are wanted.',
      'Write list.map(item, item * 2), or list.map(item, item > 1, item * 2).',
    ],
    [
      'a.filter(1, true)',
      'wrong_arguments',
      9,
      'filter() takes a variable and a test. The variable is a plain name.',
      'Write list.filter(item, item > 1).',
    ],
    [
      'cel.bind(x, 1)',
      'wrong_arguments',
      4,
      'cel.bind() takes a variable, its value, and the expression that it stands in.',
      'Write cel.bind(total, a + b, total > 3).',
    ],
    [
      'cel.bind("x", 1, 2)',
      'wrong_arguments',
      9,
      'cel.bind() takes a variable, its value, and the expression that it stands in. The variable is a plain name.',
      'Write cel.bind(total, a + b, total > 3).',
    ],
    [
      'a.all(x, y, z)',
      'wrong_arguments',
      2,
      'all() takes a variable and a test.',
      'Write list.all(item, item > 1).',
    ],
    ['has(a, b)', 'wrong_arguments', 0, 'has() takes one path.', 'Write has(metadata.status).'],
    ['has()', 'wrong_arguments', 0, 'has() takes one path.', 'Write has(metadata.status).'],
    ['has([1][0])', 'wrong_arguments', 0, 'has() takes one path.', 'Write has(metadata.status).'],
    ['has(1)', 'wrong_arguments', 0, 'has() takes one path.', 'Write has(metadata.status).'],
    [
      'x.regex("a(b")',
      'bad_pattern',
      8,
      'The pattern "a(b" cannot be read: missing closing ): `a(b`.',
      'Patterns are of RE2 syntax: https://github.com/google/re2/wiki/Syntax.',
    ],
  ])('%s', (source, code, offset, message, hint) => {
    expect(refusal(source)).toMatchObject({ code, offset, message });
    expect(refusal(source).hint).toBe(hint);
  });

  it('line and column lead into an expression of several lines', () => {
    expect(refusal('a == 1 &&\n  b = 2')).toMatchObject({ offset: 14, line: 2, column: 5 });
  });

  it('matches() is refused as a method and as a function, and the hint names what to write', () => {
    for (const source of ['name.matches("(a+)+$")', 'matches(name, "a")', 'x.exists(y, y.matches("a"))'])
      expect(refusal(source)).toMatchObject({
        code: 'refused',
        hint: expect.stringContaining('text.regex("…")'),
      });
    expect(refusal('name.matches("a")').offset).toBe(5);
  });

  it('the offset of a call is its name, past brackets and the same letters before it', () => {
    expect(refusal('(foo.bar).foo()').offset).toBe(10);
  });
});

describe('the size of an expression is limited', () => {
  it.each([
    ['too_long', 'a'.repeat(4_097)],
    ['too_complex', `${'!'.repeat(4_000)}a`],
    ['too_complex', `${'-'.repeat(4_000)}a`],
    ['too_complex', `${'('.repeat(2_000)}a${')'.repeat(2_000)}`],
    ['too_complex', `${'a+'.repeat(1_500)}a`],
    ['too_complex', `${'a?'.repeat(1_000)}1${':2'.repeat(1_000)}`],
    ['too_complex', `a${'.b'.repeat(60)}`],
    ['too_complex', `a${'[0]'.repeat(60)}`],
    ['too_complex', `[${'1,'.repeat(300)}1]`],
    ['too_complex', `size(${'1,'.repeat(9)}1)`],
    ['too_complex', 'l.all(a, l.all(b, l.all(c, l.all(d, l.all(e, true)))))'],
  ])('%s: %s', (code, source) => {
    expect(refusal(source).code).toBe(code);
  });

  const nested = (times: number) =>
    Array.from({ length: times }, (_, i) => i).reduce((body, i) => `l.all(v${i}, ${body})`, 'true');
  const items = (count: number, item: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => item(i));
  const split = 'Split it, or compute a part beforehand in a variable or a step.';

  it.each<[string, string, string, string]>([
    [
      'The expression has 4097 characters; 4096 are allowed.',
      'Compute a part beforehand, in a variable or a step.',
      `"${'a'.repeat(4_094)}"`,
      `"${'a'.repeat(4_095)}"`,
    ],
    ['The expression has more than 1000 parts.', split, `1${'+1'.repeat(499)}`, `1${'+1'.repeat(500)}`],
    [
      'The expression has more than 48 levels of nesting.',
      split,
      `${'('.repeat(47)}a${')'.repeat(47)}`,
      `${'('.repeat(48)}a${')'.repeat(48)}`,
    ],
    [
      'The expression has more than 256 elements in a list.',
      split,
      `[${items(256, String)}]`,
      `[${items(257, String)}]`,
    ],
    [
      'The expression has more than 256 entries in a map.',
      split,
      `{${items(256, (i) => `"${i}": 1`)}}`,
      `{${items(257, (i) => `"${i}": 1`)}}`,
    ],
    [
      'Macros are nested more than 4 deep.',
      'Compute a part beforehand, in a variable or a step.',
      nested(4),
      nested(5),
    ],
  ])('%s', (message, hint, allowed, refused) => {
    expect(parseExpression(allowed).ok).toBe(true);
    expect(refusal(refused)).toMatchObject({ message, hint });
  });

  it('a call with more than eight arguments is not looked at further', () => {
    expect(refusal(`size(${items(8, String)})`).code).toBe('wrong_arguments');
    expect(refusal(`size(${items(9, String)})`)).toMatchObject({
      code: 'too_complex',
      message: 'The expression has more than 8 arguments in a call.',
    });
  });

  it('too long an expression is answered with the place where it is', () => {
    expect(refusal(`\n${'a'.repeat(4_096)}`)).toMatchObject({ offset: 4_096, line: 2, column: 4_096 });
  });

  it('a binding is no loop: it does not count as nesting of macros', () => {
    expect(parseExpression(`cel.bind(x, 1, ${nested(4)})`).ok).toBe(true);
  });

  it('a chain as long as the limit allows still runs', () => {
    expect(parseExpression(`${'true && '.repeat(450)}true`).ok).toBe(true);
  });
});

describe('names', () => {
  const names = (source: string) => parsed(source).names.map(({ root, path }) => [root, ...path].join('/'));

  it.each([
    ['metadata.status == "X" && vars.list[0].a > 1', ['metadata/status', 'vars/list/0/a']],
    ['a[b].c', ['a', 'b']],
    ['a["b-c"].d', ['a/b-c/d']],
    ['items.exists(i, i.x == limit)', ['items', 'limit']],
    ['items.map(i, i.all(j, j == i && k))', ['items', 'k']],
    ['i + items.map(i, i)[0]', ['i', 'items']],
    ['cel.bind(x, vars.a, x + vars.b)', ['vars/a', 'vars/b']],
    ['has(metadata.context.phase)', ['metadata/context/phase']],
    ['{"a": x}[y] ? [z] : -w', ['x', 'y', 'z', 'w']],
    ['size(a) + b.size()', ['a', 'b']],
    ['a.b.contains(c.d) && [e].join(f) == "g"', ['a/b', 'c/d', 'e', 'f']],
    ['a[true].b', ['a']],
    ['a[1.5]', ['a']],
    ['1 + 2', []],
  ])('%s', (source, expected) => {
    expect(names(source)).toEqual(expected);
  });

  it('a name comes with its offset', () => {
    expect(parsed('1 < vars.a').names).toEqual([{ root: 'vars', path: ['a'], offset: 4 }]);
  });
});

describe('a check against known names', () => {
  const known = {
    roots: ['metadata', 'vars'],
    members: new Map([['metadata', ['status', 'progress']]]),
  };
  const check = (source: string) => checkExpression(parsed(source), known);

  it('reports every unknown name with the nearest known one', () => {
    expect(check('metdata.status == "A" && metadata.stauts == "B"')).toMatchObject([
      {
        code: 'unknown_name',
        offset: 0,
        message: 'Unknown name "metdata".',
        hint: 'Did you mean "metadata"?',
      },
      {
        code: 'unknown_name',
        offset: 25,
        message: '"metadata" has no "stauts".',
        hint: 'Did you mean "status"?',
      },
    ]);
  });

  it('a field whose root was left out is recognized', () => {
    expect(check('progress > 3')).toMatchObject([{ hint: 'Did you mean "metadata.progress"?' }]);
  });

  it.each([
    ['vars.ready == True', 'Write true.'],
    ['vars.ready == FALSE', 'Write false.'],
    ['vars.note != None', 'Write null, and test for a key that may be missing with has().'],
    ['metadata.status == CODING', 'A text stands in quotes: "CODING".'],
    ['METADATA.status == "A"', 'Did you mean "metadata"?'],
  ])('a constant of another language, and a text without quotes, are recognized: %s', (source, hint) => {
    expect(check(source)).toMatchObject([{ code: 'unknown_name', hint }]);
  });

  it('a name near to a root is that root, even where a field has the same name', () => {
    const check = (source: string) =>
      checkExpression(parsed(source), { roots: ['vars'], members: new Map([['vars', ['vasr', 'other']]]) });
    expect(check('vasr')).toMatchObject([{ hint: 'Did you mean "vars"?' }]);
    expect(check('other')).toMatchObject([{ hint: 'Did you mean "vars.other"?' }]);
    expect(check('elsewhere')).toMatchObject([{ hint: 'Names: vars.' }]);
    expect(check('vars[0] == 1 && vars == 2')).toEqual([]);
  });

  it('without known members every root is as it is', () => {
    expect(checkExpression(parsed('a.b + c'), { roots: ['a'] })).toMatchObject([{ hint: 'Names: a.' }]);
  });

  it('what is known passes, and so do the names of types', () => {
    expect(check('metadata.status == "A" && vars.anything == 1 && type(vars.x) == string')).toEqual([]);
  });
});
