// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createReferenceReader,
  MAX_REFERENCE_LENGTH,
  type ReferencePiece,
} from '../../src/expressions/references/reference.ts';
import {
  type Lookup,
  referencesInParameters,
  resolveReferences,
} from '../../src/expressions/references/resolve-references.ts';
import type { Json } from '../../src/lib/json.ts';
import { moreRuns } from '../more-runs.ts';

/** Pieces with adjacent text joined into one. */
function joinText(pieces: readonly ReferencePiece[]): readonly ReferencePiece[] {
  const joined: ReferencePiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { kind: 'text', text: last.text + piece.text };
    else joined.push(piece);
  }
  return joined;
}

function parseReferences(text: string): readonly ReferencePiece[] {
  const reader = createReferenceReader();
  return joinText([...reader.push(text), ...reader.end()]);
}

/** Pieces as short text: «name/path» for a reference, §«name» for an escaped one. */
const shown = (text: string) =>
  parseReferences(text)
    .map((piece) =>
      piece.kind === 'text'
        ? piece.text
        : `${piece.kind === 'escaped' ? '§' : ''}«${[piece.name, ...piece.path].join('/')}»`,
    )
    .join('');

/** As it was written. */
const written = (piece: ReferencePiece) =>
  piece.kind === 'text' ? piece.text : piece.kind === 'escaped' ? `$${piece.source}` : piece.source;

describe('reading a response', () => {
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
    ['$$', '$$'],
    ['$$ a', '$$ a'],
    ['$$5', '$$5'],
    ['$$a', '§«a»'],
    ['$$a.b, $$c.', '§«a/b», §«c».'],
    ['$$$a', '$§«a»'],
    ['$$$$', '$$$$'],
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

  it('gives the same pieces however the text is cut, and holds at most 256 characters', () => {
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
              given += written(piece).length;
            }
            if (pushed - given > MAX_REFERENCE_LENGTH) return false;
          }
          pieces.push(...reader.end());
          expect(joinText(pieces)).toEqual(parseReferences(whole));
          return true;
        },
      ),
      { numRuns: moreRuns(3_000) },
    );
  });

  it('loses no character', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string()), (whole) => {
        return parseReferences(whole).map(written).join('') === whole;
      }),
      { numRuns: moreRuns(2_000) },
    );
  });

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

const both = (lookup: Lookup) => ({ whole: lookup, inserted: lookup });

describe('resolving parameters', () => {
  const known: Record<string, Json> = {
    list: [1, { a: 'x' }],
    name: 'Ann',
    count: 3,
    none: null,
    'fetch-1': { body: 'ok' },
    tricky: '$name {{name}}',
  };
  const lookup = (name: string) => (Object.hasOwn(known, name) ? known[name] : undefined);
  const resolve = (value: Json) => {
    const result = resolveReferences(value, both(lookup));
    if (!result.ok) throw new Error(result.error.message);
    return result.value;
  };

  it.each<[Json, Json]>([
    ['$list', [1, { a: 'x' }]],
    ['$count', 3],
    ['$none', null],
    ['$list[1].a', 'x'],
    ['$fetch-1.body', 'ok'],
    ['hi {{name}}!', 'hi Ann!'],
    ['got {{list}}.', 'got [1,{"a":"x"}].'],
    ['{{list[1].a}}{{count}}', 'x3'],
    ['{{fetch-1.body}}', 'ok'],
    ['{{count}}', '3'],
    ['{{none}}', 'null'],
    ['{"n":{{count}}}', '{"n":3}'],
    ['{{{name}}}', '{Ann}'],
    ['$tricky', '$name {{name}}'],
    ['<{{tricky}}>', '<$name {{name}}>'],
    [
      { a: ['$count', { b: '$name' }], $name: 1, '{{name}}': '{{name}}' },
      { a: [3, { b: 'Ann' }], $name: 1, '{{name}}': 'Ann' },
    ],
    [5, 5],
    [null, null],
  ])('%j', (value, expected) => {
    expect(resolve(value).value).toEqual(expected);
    expect(resolve(value).unknown).toEqual([]);
  });

  it.each<[string]>([
    ['hi $name!'],
    ['$name '],
    ['$$name'],
    ['$$'],
    ['cc -o $@ $$(cat $<) $$name'],
    ["SELECT $$it's $name$$"],
    ['<?php echo "$name"; ?>'],
    ['echo ${name} $name "$count" $0'],
    ['{{ name }} {{name }} {{ name}}'],
    ['{{name|upper}} {{#if name}}{{/if}} {{>name}}'],
    ['{{absent}} {{name.constructor}} {{list.length}} {{list[9]}} {{__proto__}}'],
    ['{{$name}} {name} {{name}'],
    ['.items[] | .name as $name | {$name}'],
  ])('%s stays as it is, and nothing is said about it', (text) => {
    expect(resolve({ a: [text] })).toEqual({ value: { a: [text] }, unknown: [] });
  });

  it.each<[string]>([
    ['$absent'],
    ['$absent.x'],
    ['$name.constructor'],
    ['$list.length'],
    ['$list[9]'],
    ['$constructor'],
    ['$__proto__.x'],
    ['$count-1'],
  ])('%s is unknown, stays as written and is reported', (text) => {
    const { value, unknown } = resolve({ a: [text] });
    expect(value).toEqual({ a: [text] });
    expect(unknown).toMatchObject([{ at: ['a', 0] }]);
  });

  it('reports an unknown reference with its name, its path, how it is written and where it stands', () => {
    expect(resolve({ a: ['x', { b: '$x.y[0]' }], c: '$z' }).unknown).toEqual([
      { name: 'x', path: ['y', 0], source: '$x.y[0]', at: ['a', 1, 'b'] },
      { name: 'z', path: [], source: '$z', at: ['c'] },
    ]);
  });

  it('looks up $name and {{name}} separately', () => {
    const resolved = resolveReferences(['$a', '{{a}}'], { whole: () => 1, inserted: () => undefined });
    expect(resolved).toMatchObject({ value: { value: [1, '{{a}}'] } });
  });

  it('changes no string without a whole reference and without a known insertion', () => {
    const unit = fc.constantFrom(
      '$',
      '{',
      '}',
      '{{',
      '}}',
      ' ',
      'name',
      'x',
      '.',
      '[0]',
      '\\',
      '"',
      '\n',
      '😀',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        fc.pre(!/^\$name(\.|$)/.test(text) && !/\{\{name(\.name|\.x|\[0\])*\}\}/.test(text));
        expect(resolve(text).value).toBe(text);
      }),
      { numRuns: moreRuns(3_000) },
    );
  });

  it('resolves in one pass, whatever the values hold', () => {
    const unit = fc.constantFrom('$', '{{', '}}', 'a', 'b', '$a', '{{a}}', '{{b}}', '$$', 'x');
    const text = fc.string({ unit, maxLength: 12 });
    fc.assert(
      fc.property(text, text, text, text, (a, b, before, after) => {
        const values: Record<string, string> = { a, b };
        const look = both((name) => (Object.hasOwn(values, name) ? values[name] : undefined));
        const value = (source: string) => {
          const resolved = resolveReferences(source, look);
          return resolved.ok ? resolved.value.value : undefined;
        };
        expect(value('$a')).toBe(a);
        const clean = (part: string) => part.replaceAll(/[{}$]/g, '');
        const source = `${clean(before)}:{{a}}{{b}}${clean(after)}`;
        expect(value(source)).toBe(`${clean(before)}:${a}${b}${clean(after)}`);
      }),
      { numRuns: moreRuns(1_000) },
    );
  });

  it('parameters may be nested 64 deep', () => {
    const nested = (levels: number): Json => (levels === 0 ? '$x' : [nested(levels - 1)]);
    const one = both(() => 1);
    expect(resolveReferences(nested(64), one).ok).toBe(true);
    expect(resolveReferences(nested(65), one).ok).toBe(false);
    expect(referencesInParameters(nested(64))).toHaveLength(1);
    expect(referencesInParameters(nested(65))).toEqual([]);
  });

  it('a key called __proto__ stays a key', () => {
    const { value } = resolve(JSON.parse('{"__proto__": "$count"}'));
    expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
    expect(JSON.stringify(value)).toBe('{"__proto__":3}');
  });

  it('parameters that are too deep or grow too large are an error', () => {
    let deep: Json = '$a';
    for (let i = 0; i < 10_000; i++) deep = [deep];
    expect(
      resolveReferences(
        deep,
        both(() => 1),
      ),
    ).toMatchObject({
      error: {
        code: 'too_deep',
        message: 'The parameters are nested more than 64 deep.',
        hint: 'Pass a flatter value.',
        path: { length: 64 },
      },
    });
    expect(
      resolveReferences(
        '{{a}}{{a}}',
        both(() => 'x'.repeat(5_000_000)),
      ),
    ).toMatchObject({
      error: { code: 'too_large', path: [] },
    });
  });

  it('lists the references of parameters before they are resolved', () => {
    const listed = referencesInParameters({
      a: '$x.y',
      b: ['see $no and {{z[0]}}', 1, null],
      c: '{{w}}{{ v }}',
      $k: true,
    });
    expect(listed.map(({ source, whole }) => [source, whole])).toEqual([
      ['$x.y', true],
      ['{{z[0]}}', false],
      ['{{w}}', false],
    ]);
  });

  it('a reference of 256 characters is one, a longer one is text', () => {
    const name = 'a'.repeat(MAX_REFERENCE_LENGTH - 4);
    const resolveLong = (text: string) =>
      resolveReferences(
        text,
        both(() => 'v'),
      );
    expect(resolveLong(`x {{${name}}}`)).toMatchObject({ value: { value: 'x v' } });
    expect(resolveLong(`x {{${name}a}}`)).toMatchObject({ value: { value: `x {{${name}a}}` } });
    expect(resolveLong(`$${name}aaa`)).toMatchObject({ value: { value: 'v' } });
    expect(resolveLong(`$${name}aaaa`)).toMatchObject({ value: { value: `$${name}aaaa` } });
  });
});

describe('parameters with a hundred thousand references', () => {
  const many = (text: string) => Array.from({ length: 100_000 }, () => text);

  it('are searched in time by their number, not by its square', () => {
    const started = performance.now();
    expect(referencesInParameters(many('$a'))).toHaveLength(100_000);
    expect(referencesInParameters([many('{{a}}').join('{{')])).toHaveLength(100_000);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it.each([
    ['a text', '$a', 'y'.repeat(100_000)],
    ['a text inside others', 'x {{a}}', 'y'.repeat(100_000)],
    ['an object', '$a', { y: 'y'.repeat(100_000) }],
    ['an object inside texts', 'x {{a}}', { y: 'y'.repeat(100_000) }],
  ])('to %s of a hundred kilobytes end in an error, not in gigabytes', (_what, text, value) => {
    const started = performance.now();
    const lookups = both(() => value);
    expect(resolveReferences(many(text), lookups)).toMatchObject({
      ok: false,
      error: { code: 'too_large' },
    });
    expect(resolveReferences(many(text).slice(0, 300), lookups)).toMatchObject({ ok: true });
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
