import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate } from '../../src/expressions/cel/evaluate.ts';
import { parseExpression } from '../../src/expressions/cel/parse-expression.ts';
import { moreRuns } from '../more-runs.ts';
import { outcome } from './run-cel.ts';

/** Expressions of ints, strings and booleans over `a` (a list of ints), `i`, `s` and `m`. */
const typed = fc.letrec<{ int: string; bool: string; text: string; list: string }>((tie) => ({
  int: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 0, max: 20 }).map(String),
    fc.constantFrom('i', 'm.n', 'size(a)', 's.size()'),
    fc
      .tuple(tie('int'), fc.constantFrom('+', '-', '*', '/', '%'), tie('int'))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie('list'), tie('int')).map(([a, i]) => `${a}[${i}]`),
    fc.tuple(tie('bool'), tie('int'), tie('int')).map(([t, a, b]) => `(${t} ? ${a} : ${b})`),
  ),
  bool: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('true', 'false', 'm.flag'),
    fc
      .tuple(tie('int'), fc.constantFrom('<', '<=', '>', '>=', '==', '!='), tie('int'))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc
      .tuple(tie('text'), fc.constantFrom('<', '==', '!='), tie('text'))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie('bool'), fc.constantFrom('&&', '||'), tie('bool')).map(([a, op, b]) => `(${a} ${op} ${b})`),
    tie('bool').map((a) => `!${a}`),
    fc.tuple(tie('int'), tie('list')).map(([a, l]) => `(${a} in ${l})`),
    fc
      .tuple(tie('list'), fc.constantFrom('all', 'exists', 'exists_one'), tie('bool'))
      .map(([l, f, t]) => `${l}.${f}(x, x > 3 && ${t})`),
    fc
      .tuple(tie('text'), fc.constantFrom('contains', 'startsWith', 'endsWith'), tie('text'))
      .map(([a, f, b]) => `${a}.${f}(${b})`),
    fc.constantFrom('has(m.n)', 'has(m.absent)'),
  ),
  text: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('s', '"ab"', '""', '"b"'),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `(${a} + ${b})`),
    tie('int').map((a) => `string(${a})`),
    fc.tuple(tie('text'), tie('int')).map(([a, i]) => `${a}.substring(${i})`),
  ),
  list: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('a', '[1, 2, 3]'),
    fc.tuple(tie('list'), tie('bool')).map(([l, t]) => `${l}.filter(y, y > 1 || ${t})`),
    fc.tuple(tie('list'), tie('int')).map(([l, i]) => `${l}.map(z, z + ${i})`),
    fc.tuple(tie('list'), tie('list')).map(([a, b]) => `(${a} + ${b})`),
  ),
}));

const library = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false });

function byLibrary(source: string, context: Record<string, unknown>): unknown {
  try {
    return plain(library.evaluate(source, context));
  } catch {
    return 'error';
  }
}

const plain = (value: unknown): unknown =>
  typeof value === 'bigint' ? Number(value) : Array.isArray(value) ? value.map(plain) : value;

describe('the evaluator', () => {
  it('agrees with the library whose parser it uses, in values and in what is an error', () => {
    fc.assert(
      fc.property(
        fc.oneof(typed.int, typed.bool, typed.text, typed.list),
        fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 5 }),
        fc.integer({ min: -9, max: 9 }),
        (source, a, i) => {
          const parsed = parseExpression(source);
          // What the library refuses for its static types (an empty list in a comparison) is no oracle.
          fc.pre(parsed.ok && library.check(source).valid);
          const ours = evaluate(parsed.value, { a, i, s: 'abc', m: { n: 2, flag: true } });
          const theirs = byLibrary(source, {
            a: a.map(BigInt),
            i: BigInt(i),
            s: 'abc',
            m: { n: 2n, flag: true },
          });
          expect(ours.ok ? ours.value : 'error', source).toEqual(theirs);
        },
      ),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('answers any text and any context with a result, never with a throw', () => {
    const words = fc.constantFrom(
      'a',
      'b',
      '.',
      '(',
      ')',
      '[',
      ']',
      '==',
      '&&',
      '||',
      '!',
      '1',
      '"x"',
      'has',
      'size',
      '.map(x,',
      '.all(x,',
      'in',
      '?',
      ':',
      '{',
      '}',
      ',',
      '-',
      '0.5',
      'null',
      '.regex(',
      "'",
      '\\',
      '$',
    );
    const source = fc.oneof(
      fc.string(),
      fc.array(words, { maxLength: 20 }).map((parts) => parts.join(' ')),
      typed.bool,
    );
    fc.assert(
      fc.property(
        source,
        fc.dictionary(fc.constantFrom('a', 'b', 'i', 's', 'm'), fc.jsonValue()),
        (text, context) => {
          const parsed = parseExpression(text);
          if (!parsed.ok) return (parsed.error.offset ?? 0) <= text.length && parsed.error.message !== '';
          const result = evaluate(parsed.value, context);
          return result.ok
            ? JSON.stringify(result.value) !== undefined
            : (result.error.offset ?? 0) <= text.length;
        },
      ),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('returns JSON that JSON itself can carry', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const parsed = parseExpression('[a, {"k": a}]');
        if (!parsed.ok) throw new Error('unreadable');
        const result = evaluate(parsed.value, { a: value });
        expect(result).toMatchObject({ ok: true });
        expect(JSON.stringify(result.ok && result.value)).toBe(JSON.stringify([value, { k: value }]));
      }),
      { numRuns: moreRuns(1_000) },
    );
  });
});

describe('prototypes are out of reach', () => {
  const attacks = [
    'constructor',
    '__proto__',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    '__defineGetter__',
    '__lookupGetter__',
    'isPrototypeOf',
  ];
  const context = { a: { b: 1 }, l: [1], s: 'x', n: 1, t: true };

  it.each(attacks)('%s', (name) => {
    for (const root of ['a', 'l', 's', 'n', 't']) {
      for (const source of [
        `${root}.${name}`,
        `${root}["${name}"]`,
        `[${root}].map(x, x.${name})`,
        `{"k": ${root}}.k.${name}`,
        `cel.bind(x, ${root}, x.${name})`,
      ])
        expect(outcome(source, context), source).toMatch(/^!(no_such_key|wrong_type)$/);
      expect(outcome(`has(${root}.${name})`, context)).toBe(false);
      expect(outcome(`has(${root}["${name}"])`, context)).toBe(false);
    }
    expect(outcome(`"${name}" in a`, context)).toBe(false);
    expect(outcome(`"${name}" in {"k": 1}`, context)).toBe(false);
    expect(outcome(`{"k": 1}.${name}`, context)).toBe('!no_such_key');
    expect(outcome(`{"${name}": 1} == {"k": 1}`, context)).toBe(false);
    expect(outcome(`{"${name}": 1}["${name}"]`, context)).toBe(1);
    expect(outcome(`a == {"${name}": 1}`, context)).toBe(false);
    if (!['__proto__', 'prototype'].includes(name)) {
      expect(outcome(name, context)).toBe('!no_such_name');
      expect(parseExpression(`a.${name}()`)).toMatchObject({ error: { code: 'unknown_function' } });
    }
  });

  it('a map that an expression makes has what JSON has, and pollutes nothing', () => {
    const result = outcome('{"__proto__": {"polluted": true}}', context);
    expect(Object.hasOwn(result as object, '__proto__')).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('an inherited property of the context is not seen', () => {
    expect(outcome('has(a.b)', { a: Object.create({ b: 1 }) })).toBe('!not_data');
    expect(outcome('b', Object.create({ b: 1 }))).toBe('!no_such_name');
  });
});
