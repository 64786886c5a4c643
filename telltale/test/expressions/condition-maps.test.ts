import { describe, expect, it } from 'vitest';
import { type Fields, fieldsOf, matches } from '../../src/expressions/maps/conditions.ts';
import { likelyOperators, parseConditions } from '../../src/expressions/maps/parse-conditions.ts';

function holds(
  conditions: unknown,
  current: Fields['current'],
  previous?: Fields['previous'],
  matchAll = true,
) {
  const parsed = parseConditions(conditions, { matchAll });
  if (!parsed.ok) throw new Error(parsed.error.map((issue) => issue.message).join(' '));
  return matches(parsed.value, { current, previous });
}

const issuesOf = (conditions: unknown) => {
  const parsed = parseConditions(conditions);
  return parsed.ok ? [] : parsed.error;
};

const metadata = {
  status: 'CODING',
  priority: 'HIGH',
  progress: 40,
  done: false,
  note: null,
  started: '2026-01-31',
  tags: ['urgent', 'docs'],
  context: { phase: 'implementation', files: [{ name: 'a.ts' }], in: 1 },
  'a.b': 1,
  not: true,
  any: 'x',
};

describe('a condition map', () => {
  it.each<[unknown, boolean]>([
    [{ status: 'CODING' }, true],
    [{ status: 'coding' }, false],
    [{ progress: 40 }, true],
    [{ progress: '40' }, false],
    [{ done: false }, true],
    [{ done: 0 }, false],
    [{ status: 'CODING', priority: ['HIGH', 'MEDIUM'], context: { phase: 'implementation' } }, true],
    [{ status: 'CODING', priority: ['LOW'] }, false],
    [{ 'context.phase': 'implementation' }, true],
    [{ context: { phase: 'implementation', absent: 1 } }, false],
    [{ 'context.files[0].name': 'a.ts' }, true],
    [{ 'context.files[1].name': 'a.ts' }, false],
    [{ 'context.files.0.name': 'a.ts' }, false],
    [{ 'status.length': 6 }, false],
    [{ tags: 'urgent' }, false],
    [{ tags: { contains: 'urgent' } }, true],
    [{ tags: ['urgent', 'docs'] }, false],
    [{ tags: { in: [['urgent', 'docs']] } }, true],
    [{ tags: { in: [['docs', 'urgent']] } }, false],
    [{ tags: { contains: 'late' } }, false],
    [{ tags: { in: [['urgent']] } }, false],
    [{ tags: { in: [['urgent', 'docs', 'more']] } }, false],
    [{ 'context.files': { in: [[{ name: 'a.ts' }]] } }, true],
    [{ 'context.files': { contains: { name: 'a.ts' } } }, true],
    [{ 'context.files': { contains: { name: 'b.ts' } } }, false],
    [{ 'context.files': { contains: { other: 'a.ts' } } }, false],
    [{ 'context.files': { contains: { name: 'a.ts', size: 1 } } }, false],
    [{ status: { contains: 'odi' } }, false],
    [{ status: { contains: 1 } }, false],
    [{ status: { contains: 'ODI' } }, true],
    [{ progress: { contains: 4 } }, false],
    [{ progress: { gt: 39, lte: 40 } }, true],
    [{ progress: { gt: 40 } }, false],
    [{ progress: { gte: 40, lt: 41 } }, true],
    [{ progress: { gte: 41 } }, false],
    [{ progress: { lt: 40 } }, false],
    [{ progress: { lte: 39 } }, false],
    [{ status: { gt: 39 } }, false],
    [{ started: { lt: '2026-01-31' } }, false],
    [{ started: { gt: '2026-01-30', lte: '2026-01-31' } }, true],
    [{ progress: { gt: '39' } }, false],
    [{ started: { gte: '2026-01-01', lt: '2026-02-01' } }, true],
    [{ status: { in: ['CODING', 'IDLE'] } }, true],
    [{ context: { in: [{ phase: 'implementation' }] } }, false],
    [{ status: { matches: '^COD' } }, true],
    [{ status: { matches: '^OD' } }, false],
    [{ progress: { matches: '4' } }, false],
    [{ status: { not: 'IDLE' } }, true],
    [{ status: { not: ['IDLE', 'CODING'] } }, false],
    [{ progress: { not: { gt: 50 } } }, true],
    [{ context: { not: { phase: 'test' } } }, true],
    [{ progress: { any: [{ lt: 10 }, { gt: 30 }] } }, true],
    [{ progress: { all: [{ lt: 10 }, { gt: 30 }] } }, false],
    [{ progress: [{ lt: 10 }, 40] }, true],
    [{ all: [{ status: 'CODING' }, { any: [{ progress: 1 }, { not: { done: true } }] }] }, true],
    [{ not: { status: 'CODING', progress: 1 } }, true],
    [{ status: 'CODING', any: [{ progress: 1 }, { progress: 2 }] }, false],
    [{ context: { phase: 'implementation', any: [{ in: 2 }, { '["in"]': 1 }] } }, true],
    [{ context: { phase: 'implementation', not: { absent: 1 } } }, true],
    [{ context: { phase: 'implementation', not: { phase: 'implementation' } } }, false],
    [{ context: { phase: 'implementation', all: [{ absent: 1 }] } }, false],
    [{ context: { not: 'x' } }, true],
  ])('%j: %s', (conditions, expected) => {
    expect(holds(conditions, metadata)).toBe(expected);
  });

  it('match_all: false takes one entry of the top', () => {
    const conditions = { status: 'IDLE', progress: 40 };
    expect(holds(conditions, metadata, undefined, true)).toBe(false);
    expect(holds(conditions, metadata, undefined, false)).toBe(true);
    expect(holds({ status: 'IDLE', progress: 1 }, metadata, undefined, false)).toBe(false);
    expect(
      holds({ status: 'IDLE', context: { phase: 'implementation', x: 1 } }, metadata, undefined, false),
    ).toBe(false);
  });
});

describe('null and missing', () => {
  it.each<[unknown, boolean]>([
    [{ note: null }, true],
    [{ absent: null }, false],
    [{ status: null }, false],
    [{ note: { exists: true } }, true],
    [{ note: { exists: false } }, false],
    [{ absent: { exists: false } }, true],
    [{ absent: { exists: true } }, false],
    [{ 'absent.deeper': { exists: false } }, true],
    [{ 'status.deeper': { exists: false } }, true],
    [{ note: { not: null } }, false],
    [{ note: { not: 'x' } }, true],
    [{ absent: { not: 'x' } }, false],
    [{ not: { absent: 'x' } }, true],
    [{ absent: [{ exists: false }, 'x'] }, true],
    [{ absent: { gt: 1 } }, false],
    [{ absent: { not: { gt: 1 } } }, false],
    [{ note: { lt: 1 } }, false],
    [{ note: { in: [null] } }, true],
    [{ absent: { deeper: { exists: false } } }, false],
  ])('%j: %s', (conditions, expected) => {
    expect(holds(conditions, metadata)).toBe(expected);
  });
});

describe('change', () => {
  const before = { status: 'IDLE', progress: 40, gone: 1, context: { phase: 'a' } };
  const now = { status: 'CODING', progress: 40, fresh: 1, context: { phase: 'b' } };
  it.each<[unknown, boolean]>([
    [{ status: { changed: true } }, true],
    [{ progress: { changed: true } }, false],
    [{ progress: { changed: false } }, true],
    [{ gone: { changed: true } }, true],
    [{ fresh: { changed: true } }, true],
    [{ absent: { changed: true } }, false],
    [{ absent: { changed: false } }, false],
    [{ status: { from: 'IDLE', to: 'CODING' } }, true],
    [{ status: { from: 'IDLE' } }, true],
    [{ status: { to: ['CODING', 'TESTING'] } }, true],
    [{ status: { from: { not: 'IDLE' } } }, false],
    [{ progress: { from: 40 } }, false],
    [{ progress: { to: 40 } }, false],
    [{ status: { to: 'IDLE' } }, false],
    [{ status: { to: { not: 'CODING' } } }, false],
    [{ status: { from: 'CODING' } }, false],
    [{ status: { from: 'IDLE', to: 'TESTING' } }, false],
    [{ status: { changed: false } }, false],
    [{ fresh: { changed: false } }, false],
    [{ gone: { exists: false, changed: true } }, true],
    [{ gone: { exists: false, from: 1 } }, true],
    [{ gone: { exists: false, from: 2 } }, false],
    [{ gone: { from: 1 } }, true],
    [{ fresh: { from: { exists: false } } }, true],
    [{ fresh: { to: { gte: 1 } } }, true],
    [{ context: { phase: { from: 'a', to: 'b' } } }, true],
    [{ context: { changed: true } }, true],
    [{ 'context.phase': { changed: true }, progress: { gt: 1 } }, true],
  ])('%j: %s', (conditions, expected) => {
    expect(holds(conditions, now, before)).toBe(expected);
  });

  it('before the first update every field that is there has changed', () => {
    expect(holds({ status: { changed: true } }, now)).toBe(true);
    expect(holds({ status: { to: 'CODING' } }, now)).toBe(true);
    expect(holds({ status: { from: 'IDLE' } }, now)).toBe(false);
  });
});

describe('a field that is called like an operator', () => {
  it('is written in brackets and quotes', () => {
    expect(holds({ '["not"]': true, '["any"]': 'x', '["a.b"]': 1 }, metadata)).toBe(true);
    expect(holds({ 'context["in"]': 1 }, metadata)).toBe(true);
    expect(holds({ context: { '["in"]': 1 } }, metadata)).toBe(true);
    expect(holds({ context: { '["in"]': { gt: 1 } } }, metadata)).toBe(false);
  });
});

const operators = 'Operators: not, gt, gte, lt, lte, in, contains, matches, exists, changed, from, to.';

describe('what is wrong is reported with its path and a remedy, all at once', () => {
  it.each<[string, unknown, unknown]>([
    [
      'no map',
      'status == 1',
      { code: 'not_a_map', path: [], message: expect.stringContaining('the string "status == 1"') },
    ],
    ['nothing', undefined, { code: 'not_a_map', message: expect.stringContaining('nothing was found') }],
    ['a list', [], { code: 'not_a_map', message: expect.stringContaining('a list') }],
    ['an empty map', {}, { code: 'empty', path: [] }],
    ['an empty nested map', { a: { b: {} } }, { code: 'empty', path: ['a', 'b'] }],
    ['an empty list', { a: [] }, { code: 'empty', path: ['a'] }],
    ['an empty any', { any: [] }, { code: 'empty', path: ['any'] }],
    [
      'any without a list',
      { any: { a: 1 } },
      { code: 'bad_operand', path: ['any'], hint: expect.stringContaining('["any"]') },
    ],
    [
      'operators beside fields',
      { a: { gt: 1, foo: 2 } },
      { code: 'mixed_map', path: ['a'], message: 'A map has both operators (gt) and other keys ("foo").' },
    ],
    ['a misspelt operator beside one', { a: { gt: 1, lessthen: 2 } }, { code: 'mixed_map' }],
    [
      'greater',
      { a: { lt: 1, greater: 2 } },
      { hint: expect.stringContaining('"greater": Did you mean "gt"?') },
    ],
    [
      'an operator with a space',
      { a: { 'gte ': 3 } },
      { code: 'unknown_operator', path: ['a', 'gte '], hint: 'Did you mean "gte"?' },
    ],
    ['a dollar operator', { a: { $gt: 3 } }, { code: 'unknown_operator', hint: 'Did you mean "gt"?' }],
    ['not one of several', { a: { $nin: [1] } }, { code: 'unknown_operator', hint: 'Did you mean "not"?' }],
    ['equality with a dollar', { a: { $eq: 3 } }, { code: 'unknown_operator', path: ['a', '$eq'] }],
    ['a symbol', { a: { '>=': 3 } }, { code: 'unknown_operator', hint: 'Did you mean "gte"?' }],
    [
      'equality',
      { a: { '==': 3 } },
      { code: 'unknown_operator', hint: expect.stringContaining('write the value itself') },
    ],
    ['a bad path', { 'a..b': 1 }, { code: 'bad_path', path: ['a..b'] }],
    ['an open bracket', { 'a[': 1 }, { code: 'bad_path', path: ['a['] }],
    ['an empty key', { '': 1 }, { code: 'bad_path', path: [''] }],
    ['a bad pattern', { a: { matches: '(' } }, { code: 'bad_pattern', path: ['a', 'matches'] }],
    ['a back-reference', { a: { matches: '(a)\\1' } }, { hint: expect.stringContaining('back-references') }],
    [
      'gt of a list',
      { a: { gt: [1] } },
      {
        code: 'bad_operand',
        path: ['a', 'gt'],
        message: '"gt" takes a number or a string; a list was found.',
      },
    ],
    ['in without a list', { a: { in: 'x' } }, { code: 'bad_operand', hint: 'Write { in: [a, b] }.' }],
    [
      'exists of a string',
      { a: { exists: 'no' } },
      { code: 'bad_operand', message: '"exists" takes true or false; the string "no" was found.' },
    ],
    [
      'contains of a list',
      { a: { contains: ['x'] } },
      { code: 'bad_operand', hint: expect.stringContaining('all: [') },
    ],
    ['a list in a list', { a: [['x']] }, { code: 'bad_operand', path: ['a', 0] }],
    ['change inside from', { a: { from: { changed: true } } }, { code: 'bad_operand', path: ['a', 'from'] }],
    ['missing and large', { a: { exists: false, gt: 1 } }, { code: 'never_matches', path: ['a'] }],
    ['a number that JSON has not', { a: Number.NaN }, { code: 'bad_operand' }],
    ['a function', { a: () => 1 }, { code: 'bad_operand' }],
  ])('%s', (_, conditions, expected) => {
    expect(issuesOf(conditions)).toEqual([expect.objectContaining(expected as object)]);
  });

  it.each<[unknown, string, string | undefined]>([
    [
      'x',
      'Conditions are a map from fields to what they must be; the string "x" was found.',
      'Write { status: CODING }.',
    ],
    [
      {},
      'An empty map asks for nothing.',
      'Name a field in it, or write { exists: true } for a field that must only be there.',
    ],
    [{ a: [] }, 'An empty list can never be matched.', 'Put at least one value into it.'],
    [{ a: { in: [] } }, 'An empty list can never be matched.', 'Put at least one value into it.'],
    [
      { a: { gt: 1, color: 2 } },
      'A map has both operators (gt) and other keys ("color").',
      'Move "color" into a map of its own. A field that is called like an operator is written ["gt"].',
    ],
    [
      { a: { gt: 1, is: 2 } },
      'A map has both operators (gt) and other keys ("is").',
      '"is": For equality write the value itself in place of { is: … }. A field that is called like an operator is written ["gt"].',
    ],
    [
      { a: { phase: 1, not: 'x' } },
      'A map has both operators (not) and other keys ("phase").',
      'Move "phase" into a map of its own. A field that is called like an operator is written ["not"].',
    ],
    [{ a: { '~': 1 } }, '"~" is no operator, and no name of a field either.', operators],
    [
      { a: { $EQ: 1 } },
      '"$EQ" is no operator, and no name of a field either.',
      'For equality write the value itself in place of { $EQ: … }.',
    ],
    [
      { a: [['x']] },
      'A list stands inside a list of alternatives.',
      'For a field that is a list write { in: [[a, b]] } to compare all of it, or { contains: a }.',
    ],
    ...[{ changed: true }, { from: 1 }, { to: 1 }, [1, { changed: true }], { not: { to: 1 } }].map(
      (inside): [unknown, string, string] => [
        { a: { to: inside } },
        '"changed", "from" and "to" cannot stand inside "to".',
        'Put them side by side: { from: A, to: B }.',
      ],
    ),
    [
      { a: { from: { all: [{ gt: 1 }, { changed: false }] } } },
      '"changed", "from" and "to" cannot stand inside "from".',
      'Put them side by side: { from: A, to: B }.',
    ],
    [
      { a: { exists: false, gt: 1, to: 2 } },
      'A field that is missing ("exists: false") cannot also satisfy "gt", "to".',
      'Use any: [{ exists: false }, { … }] for one or the other.',
    ],
    [{ a: { gt: Number.NaN } }, '"gt" takes a number or a string; NaN was found.', undefined],
    [{ a: { gt: true } }, '"gt" takes a number or a string; true was found.', undefined],
    [{ a: { matches: 1 } }, '"matches" takes a regular expression; 1 was found.', undefined],
    [{ a: { contains: undefined } }, '"contains" takes one value; nothing was found.', undefined],
    [{ a: { in: [1, Number.NaN] } }, '"in" takes a list of JSON values; a list was found.', undefined],
    [{ a: { in: [new Date(0)] } }, '"in" takes a list of JSON values; a list was found.', undefined],
    [{ a: { contains: { b: [() => 1] } } }, '"contains" takes one value; a map was found.', undefined],
    [{ a: { any: 'x' } }, '"any" takes a list; the string "x" was found.', undefined],
    [{ a: { all: { gt: 1 } } }, '"all" takes a list; a map was found.', undefined],
    [
      { all: 'x' },
      '"all" takes a list of maps; the string "x" was found.',
      'Write all: [{ … }, { … }]. A field called "all" is written ["all"].',
    ],
  ])('%j: %s', (conditions, message, hint) => {
    const [issue, ...more] = issuesOf(conditions);
    expect(issue?.message).toBe(message);
    expect(issue?.hint).toBe(hint);
    expect(more).toEqual([]);
  });

  it('many at once', () => {
    const issues = issuesOf({ a: { gt: true }, any: [{ b: [] }, { 'c.': 1 }], d: { matches: '[' } });
    expect(issues.map((issue) => issue.path.join('/'))).toEqual(['a/gt', 'any/0/b', 'any/1/c.', 'd/matches']);
  });

  it('a map that is too deep or too large is an issue, not a stack overflow', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 20_000; i++) deep = { a: deep };
    expect(issuesOf(deep)).toMatchObject([{ code: 'too_deep' }]);
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]));
    expect(issuesOf(wide)).toMatchObject([{ code: 'too_large' }]);
    expect(issuesOf({ a: { in: Array.from({ length: 5_000 }, (_, i) => i) } })).toMatchObject([
      { code: 'too_large' },
    ]);
  });
});

describe('a name that is odd, but no operator', () => {
  it.each(['x>=', '>=x', ' phase', '$phase', 'Gte x'])('%j is a field', (name) => {
    expect(holds({ [name]: 1 }, { [name]: 1 })).toBe(true);
    expect(holds({ [name]: 1 }, { [name]: 2 })).toBe(false);
  });
});

describe('the size of a condition map', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
  const wide = (fields: number) => Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, i]));
  const operand = (levels: number): unknown =>
    levels === 0 ? 1 : levels % 2 ? [operand(levels - 1)] : { a: operand(levels - 1) };

  it('may be 16 levels', () => {
    expect(issuesOf(nested(16))).toEqual([]);
    expect(issuesOf(nested(17))).toEqual([
      {
        code: 'too_deep',
        message: 'Conditions are nested more than 16 deep.',
        hint: 'Use a path as the key (a.b.c), or a CEL test.',
        path: Array(17).fill('a'),
      },
    ]);
  });

  it('may be 1,000 parts, its own map and the values of a list among them', () => {
    expect(issuesOf(wide(999))).toEqual([]);
    expect(issuesOf(wide(1_000))).toEqual([
      {
        code: 'too_large',
        message: 'The conditions have more than 1000 parts.',
        hint: 'Split them over several triggers.',
        path: ['f999'],
      },
    ]);
    expect(issuesOf({ a: { in: Array(998).fill(1) } })).toEqual([]);
    expect(issuesOf({ a: { in: Array(999).fill(1) } })).toMatchObject([{ code: 'too_large' }]);
  });

  it('lets a value to compare with be 16 levels deep, too', () => {
    expect(issuesOf({ a: { in: [operand(16)] } })).toEqual([]);
    expect(issuesOf({ a: { in: [operand(17)] } })).toMatchObject([{ code: 'bad_operand' }]);
  });
});

describe('own properties only', () => {
  it.each([
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'context.constructor',
    'tags.length',
    'status.length',
  ])('%s is missing', (path) => {
    const conditions = JSON.parse(`{${JSON.stringify(path)}: {"exists": true}}`);
    expect(holds(conditions, metadata)).toBe(false);
  });

  it('a field that is really called __proto__ is found', () => {
    expect(holds(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}'))).toBe(true);
    expect(holds(JSON.parse('{"a": {"in": [{"__proto__": 1}]}}'), { a: {} })).toBe(false);
  });
});

describe('fieldsOf', () => {
  it('names every field once, nested and by path alike, and says where a change is asked for', () => {
    const parsed = parseConditions({
      status: 'A',
      'context.phase': 'x',
      context: { phase: { not: 'y' }, files: { contains: 1 } },
      any: [{ status: { from: 'B' } }, { not: { 'a[0]': [1, { gt: 2 }] } }],
    });
    expect(parsed.ok && fieldsOf(parsed.value)).toEqual([
      { path: ['status'], change: true },
      { path: ['context', 'phase'], change: false },
      { path: ['context', 'files'], change: false },
      { path: ['a', 0], change: false },
    ]);
  });
});

describe('a lone field that reads like an operator', () => {
  it.each([
    [{ progress: { greater: 3 } }, 'progress.greater', 'Did you mean "gt"?'],
    [{ progress: { eq: 3 } }, 'progress.eq', 'For equality write the value itself'],
    [{ any: [{ tags: { contain: 'x' } }] }, 'any.0.tags.contain', 'Did you mean "contains"?'],
    [{ a: { b: { GT: 3 } } }, 'a.b.GT', 'Did you mean "gt"?'],
    [{ a: { not: { b: { min: 3 } } } }, 'a.not.b.min', 'Did you mean "gte"?'],
    [{ a: [{ b: { Equals: 3 } }] }, 'a.0.b.Equals', 'For equality write the value itself'],
  ])('%j is pointed out', (conditions, path, hint) => {
    const found = likelyOperators(conditions);
    expect(found.map((each) => each.path.join('.'))).toEqual([path]);
    expect(found[0]?.hint).toContain(hint);
  });

  it.each([
    [{ 'progress.greater': 3 }],
    [{ greater: 3 }],
    [{ context: { phase: 'x' } }],
    [{ range: { min: 1, max: 2 } }],
    [{ a: { in: [{ b: { eq: 1 } }] } }],
    [{ a: { gt: 3 } }],
    [{ a: { contains: { b: { eq: 1 } } } }],
    [{ not: { eq: 1 } }],
    [{ all: [{ eq: 1 }] }],
    [{ a: { eq: { b: 1 } } }],
    [{ a: { in: [1] } }],
    [{ a: { tag: 3 } }],
    [{ a: { get: 3 } }],
    [{ a: {} }],
    [{ a: { limits: { turns: 3 } } }],
    [{ a: { $phase: 3 } }],
  ])('%j is not', (conditions) => {
    expect(likelyOperators(conditions)).toEqual([]);
  });
});
