// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_REFERENCE_LENGTH } from '../../src/conditions/references/reference.ts';
import {
  createReferenceReader,
  joinText,
  parseReferences,
} from '../../src/conditions/references/reference-reader.ts';
import { referencesIn, resolveReferences } from '../../src/conditions/references/resolve-references.ts';
import type { Json } from '../../src/kernel/json.ts';

/** Thousands of runs on a machine that is busy with other things. */
const PROPERTY_TIMEOUT_MS = 60_000;

/** Pieces as short text: «name/path» for a reference, § for a dollar. */
const shown = (text: string) =>
  parseReferences(text)
    .map((piece) =>
      piece.kind === 'text'
        ? piece.text
        : piece.kind === 'dollar'
          ? '§'
          : `«${[piece.name, ...piece.path].join('/')}»`,
    )
    .join('');

describe('reading', () => {
  it.each([
    ['see $report.', 'see «report».'],
    ['$report', '«report»'],
    ['$a.b[0].c!', '«a/b/0/c»!'],
    ['$a.b.', '«a/b».'],
    ['$a..b', '«a»..b'],
    ['$a[', '«a»['],
    ['$a[]', '«a»[]'],
    ['$a[x]', '«a»[x]'],
    ['$a[12', '«a»[12'],
    ['$a[$b]', '«a»[«b»]'],
    ['$a.$b', '«a».«b»'],
    ['$a$b', '«a»«b»'],
    ['$$', '§'],
    ['$$a', '§a'],
    ['$$$a', '§«a»'],
    ['$', '$'],
    ['$5.00 and $ x', '$5.00 and $ x'],
    ['$a-1 $a-', '«a-1» «a»-'],
    ['$_x.y-z', '«_x/y-z»'],
    ['a$b.c d', 'a«b/c» d'],
    ['${vars.a}', '${vars.a}'],
    ['$é', '$é'],
    ['$a[1234567890]', '«a»[1234567890]'],
  ])('%s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it('a reference of 256 characters is one, a longer one is text', () => {
    const name = 'a'.repeat(MAX_REFERENCE_LENGTH - 1);
    expect(parseReferences(`$${name} `)).toMatchObject([
      { kind: 'reference', name },
      { kind: 'text', text: ' ' },
    ]);
    expect(parseReferences(`$${name}a `)).toEqual([{ kind: 'text', text: `$${name}a ` }]);
    expect(parseReferences(`$${name}a$b`)).toMatchObject([
      { kind: 'text' },
      { kind: 'reference', name: 'b' },
    ]);
  });
});

describe('a reader of a stream', () => {
  const unit = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('$', '.', '[', ']', '-', '0', 'a', 'b_', ' ', '$a', '$$', '[1]', '.b', '😀'),
    },
    { weight: 1, arbitrary: fc.constant('x'.repeat(250)) },
  );
  const text = fc.string({ unit, maxLength: 40 });

  it(
    'gives the same pieces however the text is cut, and holds at most 256 characters',
    () => {
      fc.assert(
        fc.property(
          text,
          fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
          (whole, sizes) => {
            const reader = createReferenceReader();
            const pieces = [];
            let pushed = 0;
            let given = 0;
            for (let at = 0, i = 0; at < whole.length; i++) {
              const chunk = whole.slice(at, at + (sizes[i % sizes.length] ?? 1));
              at += chunk.length;
              pushed += chunk.length;
              for (const piece of reader.push(chunk)) {
                pieces.push(piece);
                given +=
                  piece.kind === 'text'
                    ? piece.text.length
                    : piece.kind === 'dollar'
                      ? 2
                      : piece.source.length;
              }
              if (pushed - given > MAX_REFERENCE_LENGTH) return false;
            }
            pieces.push(...reader.end());
            expect(joinText(pieces)).toEqual(parseReferences(whole));
            return true;
          },
        ),
        { numRuns: 3_000 },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'loses no character',
    () => {
      fc.assert(
        fc.property(fc.oneof(text, fc.string()), (whole) => {
          const back = parseReferences(whole).map((piece) =>
            piece.kind === 'text' ? piece.text : piece.kind === 'dollar' ? '$$' : piece.source,
          );
          return back.join('') === whole;
        }),
        { numRuns: 2_000 },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('lets text go at once and holds back only what may still be a reference', () => {
    const reader = createReferenceReader();
    expect(reader.push('price 5, see $rep')).toEqual([{ kind: 'text', text: 'price 5, see ' }]);
    expect(reader.push('ort.')).toEqual([]);
    expect(reader.push(' Then')).toMatchObject([
      { kind: 'reference', name: 'report', path: [] },
      { text: '. Then' },
    ]);
    expect(reader.end()).toEqual([]);
    expect(reader.push('$a')).toEqual([]);
    expect(reader.end()).toMatchObject([{ kind: 'reference', name: 'a' }]);
  });
});

describe('resolving parameters', () => {
  const known: Record<string, Json> = {
    list: [1, { a: 'x' }],
    name: 'Ann',
    count: 3,
    none: null,
    'fetch-1': { body: 'ok' },
    tricky: '$name',
  };
  const resolve = (value: Json) => {
    const result = resolveReferences(value, (name) => (Object.hasOwn(known, name) ? known[name] : undefined));
    if (!result.ok) throw new Error(result.error.message);
    return result.value;
  };

  it.each<[Json, Json]>([
    ['$list', [1, { a: 'x' }]],
    ['$count', 3],
    ['$none', null],
    ['$list[1].a', 'x'],
    ['hi $name!', 'hi Ann!'],
    ['got $list.', 'got [1,{"a":"x"}].'],
    ['$$name costs $$5', '$name costs $5'],
    ['$fetch-1.body', 'ok'],
    ['$count-1', '3-1'],
    ['$name-$count', 'Ann-3'],
    ['$tricky', '$name'],
    ['<$tricky>', '<$name>'],
    [
      { a: ['$count', { b: '$name' }], $name: 1 },
      { a: [3, { b: 'Ann' }], $name: 1 },
    ],
    [5, 5],
    [null, null],
  ])('%j', (value, expected) => {
    expect(resolve(value).value).toEqual(expected);
    expect(resolve(value).unknown).toEqual([]);
  });

  it.each<[string]>([
    ['$absent'],
    ['pay $absent.x now'],
    ['$name.constructor'],
    ['$list.length'],
    ['$list[9]'],
    ['$constructor'],
    ['$__proto__.x'],
  ])('%s is unknown, stays as written and is reported', (text) => {
    const { value, unknown } = resolve({ a: [text] });
    expect(value).toEqual({ a: [text] });
    expect(unknown).toMatchObject([{ at: ['a', 0] }]);
  });

  it('each that is unknown is reported with its name, its path, how it is written and where it stands', () => {
    expect(resolve({ a: ['x', { b: 'see $x.y[0] and $z' }] }).unknown).toEqual([
      { name: 'x', path: ['y', 0], source: '$x.y[0]', at: ['a', 1, 'b'] },
      { name: 'z', path: [], source: '$z', at: ['a', 1, 'b'] },
    ]);
  });

  it('parameters may be nested 64 deep', () => {
    const nested = (levels: number): Json => (levels === 0 ? '$x' : [nested(levels - 1)]);
    expect(resolveReferences(nested(64), () => 1).ok).toBe(true);
    expect(resolveReferences(nested(65), () => 1).ok).toBe(false);
    expect(referencesIn(nested(64))).toHaveLength(1);
    expect(referencesIn(nested(65))).toEqual([]);
  });

  it('numbers, null and texts without a dollar hold no references', () => {
    expect(referencesIn({ a: null, b: 1, c: 'x', d: ['$y', null, '$z'] }).map(({ name }) => name)).toEqual([
      'y',
      'z',
    ]);
  });

  it('a key called __proto__ stays a key', () => {
    const { value } = resolve(JSON.parse('{"__proto__": "$count"}'));
    expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
    expect(JSON.stringify(value)).toBe('{"__proto__":3}');
  });

  it('parameters that are too deep or grow too large are an error', () => {
    let deep: Json = '$a';
    for (let i = 0; i < 10_000; i++) deep = [deep];
    expect(resolveReferences(deep, () => 1)).toMatchObject({
      error: {
        code: 'too_deep',
        message: 'The parameters are nested more than 64 deep.',
        hint: 'Pass a flatter value.',
        path: { length: 64 },
      },
    });
    expect(resolveReferences('$a$a', () => 'x'.repeat(5_000_000))).toMatchObject({
      error: { code: 'too_large', path: [] },
    });
  });

  it('the references of parameters can be listed before they are resolved', () => {
    expect(referencesIn({ a: '$x.y and $z', b: ['$$w', 1] }).map(({ source }) => source)).toEqual([
      '$x.y',
      '$z',
    ]);
  });
});

describe('parameters with a hundred thousand references', () => {
  const many = (text: string) => Array.from({ length: 100_000 }, () => text);

  it('are searched in time by their number, not by its square', () => {
    const started = performance.now();
    expect(referencesIn(many('$a'))).toHaveLength(100_000);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it.each([
    ['a text', '$a', 'y'.repeat(100_000)],
    ['a text inside others', 'x $a', 'y'.repeat(100_000)],
    ['an object', '$a', { y: 'y'.repeat(100_000) }],
    ['an object inside texts', 'x $a', { y: 'y'.repeat(100_000) }],
  ])('to %s of a hundred kilobytes end in an error, not in gigabytes', (_what, text, value) => {
    const started = performance.now();
    expect(resolveReferences(many(text), () => value)).toMatchObject({
      ok: false,
      error: { code: 'too_large' },
    });
    expect(resolveReferences(many(text).slice(0, 300), () => value)).toMatchObject({ ok: true });
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
