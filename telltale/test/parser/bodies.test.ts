import { describe, expect, it } from 'vitest';
import { parseInChunks } from './parse-in-chunks.ts';

const MAX_DEPTH = 500;

const heard = (body: string) => parseInChunks([`<metadata>${body}</metadata>`]).events;
const value = (of: unknown) => [{ type: 'metadata', value: of }];
const repaired = (of: unknown) => [{ type: 'metadata', value: of, repaired: true }];

describe('a body with what models get slightly wrong is read', () => {
  it.each<[string, unknown]>([
    ['{"a": 1, // why\n "b": 2}', { a: 1, b: 2 }],
    ['{"a": 1} // to the end of the line\n', { a: 1 }],
    ['{"a": 1, # why\n "b": 2 #that\n}', { a: 1, b: 2 }],
    ['{"a": "# no comment", \'b\': 1}', { a: '# no comment', b: 1 }],
    ['{"a": "^\\.\\d+\\ $"}', { a: '^\\.\\d+\\ $' }],
    ['{"a": "\\\'\\`\\x41\\x4\\u12\\\n"}', { a: "'`A\\x4\\u12\\\n" }],
    ["{'a': '\\'\\.'}", { a: "'\\." }],
    ['{/* one */ "a" /* two */ : /**/ 1 /* three * / */, "b": 2}', { a: 1, b: 2 }],
    ['{"a": "//", \'b\': "/* */"}', { a: '//', b: '/* */' }],
    ['{"a": [1, 2,], "b": {"c": 3,},}', { a: [1, 2], b: { c: 3 } }],
    ["{'a': 'say \"it\\'s\"'}", { a: 'say "it\'s"' }],
    ['{"a": true, "b": false, "c": null,}', { a: true, b: false, c: null }],
    ['{"a": [true, false, null, -1.5e2, "x", [], {}],}', { a: [true, false, null, -150, 'x', [], {}] }],
    ['{"a": "one\ntwo\r\n\tthree"}', { a: 'one\ntwo\r\n\tthree' }],
    ['{"a": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00",}', { a: '"\\/\b\f\n\r\té😀' }],
    ['{\t"a"\r\n:\t1\r,}', { a: 1 }],
    ['{"a": {"b": [1', { a: { b: [1] } }],
    ['{"a": 1,', { a: 1 }],
    ['{"__proto__": 1, "a": 2,}', JSON.parse('{"__proto__": 1, "a": 2}')],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['~~~~\n{"a": 1}\n~~~~~', { a: 1 }],
    ['```\n{"a": 1}', { a: 1 }],
    ['{...}', {}],
    ['{"a": {...}}', { a: {} }],
  ])('%j', (body, expected) => {
    expect(heard(body)).toEqual(repaired(expected));
  });

  it('and one without a mistake is not marked as repaired', () => {
    expect(heard('{"a": "\\u00e9"}')).toEqual(value({ a: 'é' }));
  });
});

describe('a body that can only be guessed at is not', () => {
  it.each([
    '{a: 1}',
    '{"a" 1}',
    '{"a": }',
    '{"a": 1 "b": 2}',
    '{"a": [1 2]}',
    '{, "a": 1}',
    '{"a": 1,, "b": 2}',
    '{"a": 1]',
    '{"a": [1}}',
    '{"a": 01}',
    '{"a": +1}',
    '{"a": yes}',
    '{"a": 1# no space before\n}',
    '{"a": 1 # to the end}',
    '{"a": 1 // to the end}',
    '{"a": 1} // to the end',
    '{"a": 1 // to the end\t',
    '```json\n{"a": 1} # to the end```',
    '{"a": 1 /* open}',
    '{"a": 1 / 2}',
    '{"a": 1} {"b": 2}',
    '{"a": 1, ...}',
    '{"a": [...]}',
    '{... , "a": 1}',
    '````\n{"a": 1}\n```',
    '```\n{"a": 1}\n~~~',
  ])('%j', (body) => {
    expect(heard(body)).toMatchObject([{ type: 'fault', code: 'bad_json' }]);
  });
});

describe('a body may be nested 500 levels', () => {
  const lists = (levels: number, end = '') =>
    `{"a": ${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}${end}}`;
  const maps = (levels: number, end = '') => `${'{"a": '.repeat(levels)}1${end}${'}'.repeat(levels)}`;

  it.each([
    ['strict', ''],
    ['repaired', ','],
  ])('%s', (_, end) => {
    for (const nested of [lists, maps]) {
      expect(heard(nested(MAX_DEPTH, end))).toMatchObject([{ type: 'metadata' }]);
      expect(heard(nested(MAX_DEPTH + 1, end))).toMatchObject([{ type: 'fault', code: 'bad_json' }]);
    }
  });

  it('and may hold more brackets than that side by side', () => {
    expect(heard(`{"a": [${'[],'.repeat(2_000)}{}]}`)).toMatchObject([{ type: 'metadata' }]);
  });
});
