import { describe, expect, it } from 'vitest';
import { MAX_COST } from '../../src/expressions/cel/limits.ts';
import { outcome } from './run-cel.ts';

const numbers = Array.from({ length: 1_000 }, (_, i) => i);
const objects = numbers.map((id) => ({ id, name: `n${id}`, tags: ['a', 'b'] }));
const text = 'a'.repeat(1 << 20);
const wide = Object.fromEntries(numbers.map((i) => [`k${i}`, i]));
const context = { numbers, objects, text, wide, needle: `${'a'.repeat(500)}b` };

/** `init`, put through `step` again and again by nested bindings. */
function repeated(
  init: string,
  times: number,
  step: (last: string) => string,
  end: (last: string) => string,
): string {
  let source = end(`v${times}`);
  for (let i = times; i > 0; i--) source = `cel.bind(v${i}, ${step(`v${i - 1}`)}, ${source})`;
  return `cel.bind(v0, ${init}, ${source})`;
}
const double = (last: string) => `${last} + ${last}`;
const pair = (last: string) => `[${last}, ${last}]`;

describe('hostile expressions end in a typed error', () => {
  it.each([
    ['loops in loops', 'numbers.map(a, numbers.map(b, numbers.map(c, numbers.map(d, a))))'],
    ['loops whose bodies fail', 'numbers.exists(a, numbers.exists(b, a.x))'],
    ['a list that doubles', repeated('[1, 2]', 20, double, (v) => `size(${v})`)],
    ['a string that doubles', repeated('"abcdefgh"', 20, double, (v) => `size(${v})`)],
    ['a list of shared lists as a result', repeated('[1]', 20, pair, (v) => v)],
    [
      'a comparison of shared lists',
      `cel.bind(one, ${repeated('[1]', 20, pair, (v) => v)}, one == ${repeated('[1]', 20, pair, (v) => v)})`,
    ],
    ['a search for a long part, again and again', 'numbers.exists(x, text.contains(needle))'],
    ['a search in a list, again and again', 'numbers.all(x, numbers.all(y, !(-1 in numbers)))'],
    ['a comparison of large values, again and again', 'numbers.all(x, objects == objects.map(o, o))'],
    ['a split into characters', 'text.split("").size() > 1'],
    ['a split into many parts', 'text.split("a").size() > 1'],
    ['a join of large strings', 'numbers.map(x, text).join("")'],
    ['substrings of a large string', 'numbers.all(x, text.substring(1).size() > 0)'],
    ['counting the keys of a wide map', 'numbers.all(x, numbers.all(y, size(wide) > 0))'],
    ['patterns made on the way', 'numbers.exists(x, "a".regex(string(x) + "b"))'],
    ['a pattern on a large string', 'text.regex("(a|b)*a(a|b){20}[cd]")'],
    ['one large string many times in the result', 'numbers.map(x, text)'],
    ['one large value many times in the result', 'numbers.map(x, objects)'],
    ['large numbers', 'numbers.map(x, numbers.map(y, 9223372036854775807 / 3))'],
  ])('%s', (_, source) => {
    const before = performance.now();
    expect(outcome(source, context)).toBe('!too_costly');
    // A safety net against a limit that stops counting; the work itself is bounded by units, below.
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('the number of elements that are visited is bounded by the budget', () => {
    let reads = 0;
    const item = {
      get x() {
        reads++;
        return 1;
      },
    };
    const items = Array.from({ length: 500 }, () => item);
    expect(outcome('items.all(a, items.all(b, items.all(c, a.x + b.x + c.x > 0)))', { items })).toBe(
      '!too_costly',
    );
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(MAX_COST);
  });

  it('a spent budget is not absorbed by a logical operator', () => {
    const costly = 'numbers.all(a, numbers.all(b, numbers.all(c, true)))';
    expect(outcome(`${costly} || true`, context)).toBe('!too_costly');
    expect(outcome(`[1].exists(x, ${costly})`, context)).toBe('!too_costly');
  });

  it('an honest test over a thousand elements is well within the budget', () => {
    expect(
      outcome(
        'objects.exists(o, o.id == 999 && o.tags.exists(t, t == "b") && o.name.startsWith("n"))',
        context,
      ),
    ).toBe(true);
    expect(outcome('text.contains("TERMINATE")', context)).toBe(false);
  });

  it('nesting of values deeper than the limit is an error, not a stack overflow', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect(outcome('a == b', { a: deep, b: [deep] })).toBe('!too_costly');
    expect(outcome('[a]', { a: deep })).toBe('!too_costly');
  });
});
