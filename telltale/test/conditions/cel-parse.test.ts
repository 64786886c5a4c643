import { describe, expect, it } from 'vitest';
import { checkExpression } from '../../src/conditions/cel/check-expression.ts';
import { parseExpression } from '../../src/conditions/cel/parse-expression.ts';
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
    ['a.in', 'syntax', 2, 'the name "in" should stand here, not "in".', 'Read it as a key: x["in"].'],
    ['if == 1', 'syntax', 0, '"if" is a reserved word.', 'Read it as a key: vars["if"].'],
    [
      'a.?b',
      'syntax',
      2,
      'the name "?" should stand here, not "?".',
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
        message: 'There is no name "metdata" here.',
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

  it('a field whose root was left out is recognised', () => {
    expect(check('progress > 3')).toMatchObject([{ hint: 'Did you mean "metadata.progress"?' }]);
  });

  it('what is known passes, and so do the names of types', () => {
    expect(check('metadata.status == "A" && vars.anything == 1 && type(vars.x) == string')).toEqual([]);
  });
});
