import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTokenizer } from '../../src/agent/tokenizer.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import { cutText } from '../../src/feeds/values/cut-text.ts';
import { prepareValue } from '../../src/feeds/values/prepare-value.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { moreRuns } from '../more-runs.ts';

const tokenizer = createTokenizer();
const MIB = 1024 * 1024;

type Shape = Pick<Feed, 'id' | 'transform' | 'max_tokens' | 'inject'>;

const prepared = (raw: Json, feed: Partial<Shape> = {}, context: JsonObject = {}) =>
  prepareValue({ id: 'f', transform: [], inject: 'on_change', ...feed } as Shape, raw, {
    tokenizer,
    context: () => context,
  });

const transformed = async (raw: Json, ...transform: Shape['transform']) =>
  (await prepared(raw, { transform, max_tokens: 100_000 })).value;

const failure = (work: Promise<unknown>): Promise<RuntimeError> =>
  work.then(
    (value) => {
      throw new Error(`should have failed, but gave ${JSON.stringify(value)?.slice(0, 200)}`);
    },
    (thrown: unknown) => {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    },
  );

const lines = (count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} of the log`).join('\n');

test('tokens are counted as o200k does, and tokens of control are plain text', async () => {
  const { count } = await tokenizer();
  expect(count('')).toBe(0);
  expect(count('hello world')).toBe(2);
  expect(count('a <|endoftext|> b <|im_start|>')).toBeGreaterThan(5);
  expect(await tokenizer()).toBe(await tokenizer());
});

test('however hostile a text is, its count is bounded in time and about right', async () => {
  const { count } = await tokenizer();
  const random = (from: number, size: number, length: number) =>
    Array.from({ length }, (_, at) => String.fromCodePoint(from + ((at * 7919) % size))).join('');
  expect(count('a'.repeat(MIB))).toBeCloseTo(MIB / 8, -4);
  expect(count('\n'.repeat(MIB))).toBeLessThan(MIB / 8);
  expect(count(' '.repeat(60_000))).toBeLessThan(5_000);
  expect(count(random(0x1f300, 700, 30_000))).toBeGreaterThan(30_000);
  expect(count(`${'x'.repeat(500)}\ud800${'\udc00'.repeat(300)}`)).toBeGreaterThan(60);
});

test('a long text is counted by samples of all of it', async () => {
  const { count } = await tokenizer();
  const text = `${lines(20_000)}\n${'漢字かな'.repeat(20_000)}`;
  let exact = 0;
  for (let at = 0; at < text.length; at += 8_192) exact += count(text.slice(at, at + 8_192));
  expect(Math.abs(count(text) - exact) / exact).toBeLessThan(0.1);
});

test('a value that fits stands as it is, with its tokens', async () => {
  expect(await prepared({ cpu: 45.2 })).toEqual({ value: { cpu: 45.2 }, tokens: expect.any(Number) });
  expect(await prepared('')).toEqual({ value: '', tokens: 0 });
  expect(await prepared(null)).toEqual({ value: null, tokens: 1 });
});

test('a value that is too long becomes the whole lines that fit, and says what is missing', async () => {
  const { count } = await tokenizer();
  const text = lines(200);
  const { value, tokens, truncated = 0 } = await prepared(text, { max_tokens: 100 });
  expect(text.startsWith(`${String(value)}\n`)).toBe(true);
  expect(String(value)).toMatch(/of the log$/);
  expect(tokens).toBe(count(String(value)));
  expect(tokens).toBeLessThanOrEqual(100);
  expect(tokens).toBeGreaterThan(80);
  expect(truncated).toBe(count(text) - tokens);
});

test('an object is cut as the text that it is shown as', async () => {
  const list = Array.from({ length: 500 }, (_, n) => ({ n, name: `item ${n}` }));
  const { value, truncated } = await prepared(list, { max_tokens: 50 });
  expect(String(value)).toMatch(/^\[\n {2}\{\n {4}"n": 0,\n/);
  expect(truncated).toBeGreaterThan(1_000);
});

test('a line that is longer than the limit is cut inside, never inside of a character', async () => {
  for (const text of ['x '.repeat(5_000), '😀'.repeat(5_000), `short\n${'word '.repeat(5_000)}`]) {
    const { value, tokens, truncated } = await prepared(text, { max_tokens: 60 });
    expect(tokens).toBeGreaterThan(40);
    expect(tokens).toBeLessThanOrEqual(60);
    expect(text.startsWith(String(value))).toBe(true);
    expect(String(value)).not.toMatch(/[\ud800-\udbff]$/);
    expect(truncated).toBeGreaterThan(1_000);
  }
});

test('a shown feed has 4,000 tokens by default, one that is only referred to is whole', async () => {
  const text = lines(3_000);
  expect((await prepared(text)).tokens).toBeLessThanOrEqual(4_000);
  expect(await prepared(text, { inject: 'reference' })).toMatchObject({ value: text });
  expect(await prepared(text, { inject: 'reference', max_tokens: 10 })).toMatchObject({
    truncated: expect.any(Number),
  });
});

test('a megabyte is cut whatever it holds', async () => {
  const floods = [
    'a'.repeat(MIB),
    '\n'.repeat(MIB),
    '😀'.repeat(MIB / 4),
    lines(40_000),
    '\u0301'.repeat(MIB / 2),
  ];
  for (const text of floods) {
    const { value, tokens, truncated } = await prepared(text);
    expect(tokens).toBeLessThanOrEqual(4_000);
    expect(tokens).toBeGreaterThan(1_900);
    expect(text.startsWith(String(value))).toBe(true);
    expect(truncated).toBeGreaterThan(10_000);
  }
});

test('a limit of many tokens is kept to as exactly', async () => {
  const { count } = await tokenizer();
  const { value, tokens, truncated } = await prepared(lines(60_000), { max_tokens: 40_000 });
  let exact = 0;
  for (const line of String(value).split(/(?<=\n)/)) exact += count(line);
  expect(tokens).toBeLessThanOrEqual(40_000);
  expect(tokens).toBeGreaterThan(39_900);
  expect(Math.abs(tokens - exact)).toBeLessThan(10);
  expect(String(value)).toMatch(/of the log$/);
  expect(truncated).toBeGreaterThan(200_000);
});

test('what is kept always fits and is a beginning of the text', async () => {
  const counter = await tokenizer();
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('\n', '\n\n', ' \n', '   ', '-'.repeat(90), 'a'.repeat(300), '/\n/', '😀', '\r\n'),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 60 }),
      fc.integer({ min: 1, max: 80 }),
      async (parts, max) => {
        const text = parts.join('');
        const { text: kept, tokens, truncated } = await cutText(text, max, counter);
        expect(tokens).toBeLessThanOrEqual(max);
        expect(tokens).toBe(counter.count(kept));
        expect(text.startsWith(kept)).toBe(true);
        expect(truncated === undefined).toBe(kept === text);
      },
    ),
    { numRuns: moreRuns(150) },
  );
});

test('head and tail take lines of a text, items of a list, properties of an object', async () => {
  expect(await transformed('a\nb\nc\n', { head: 2 })).toBe('a\nb');
  expect(await transformed('a\nb\nc\n', { tail: 1 })).toBe('c');
  expect(await transformed([1, 2, 3], { tail: 2 })).toEqual([2, 3]);
  expect(await transformed({ a: 1, b: 2 }, { head: 1 })).toEqual({ a: 1 });
  expect(await transformed(7, { head: 1 })).toBe(7);
});

test('lines keeps those that the pattern is found in, of texts and of lists', async () => {
  expect(await transformed('INFO a\nERROR b\nINFO c\nerror d', { lines: '(?i)error' })).toBe(
    'ERROR b\nerror d',
  );
  expect(await transformed([{ level: 'ERROR' }, { level: 'INFO' }], { lines: 'ERROR' })).toEqual([
    { level: 'ERROR' },
  ]);
  expect(await transformed({ a: 1, b: 2 }, { lines: '"b"' })).toBe('  "b": 2');
});

test('cel sees the value and what the session has', async () => {
  const { value } = await prepared(
    { items: [1, 5, 9] },
    { transform: [{ cel: 'value.items.filter(x, x > vars.least)' }] },
    { vars: { least: 4 } },
  );
  expect(value).toEqual([5, 9]);
});

test('a JSONPath that can lead to one value gives it, any other a list', async () => {
  const store = {
    items: [
      { name: 'a', level: 'warn' },
      { name: 'b', level: 'error' },
    ],
    total: 2,
  };
  expect(await transformed(store, { jsonpath: '$.total' })).toBe(2);
  expect(await transformed(store, { jsonpath: '$.nothing' })).toBeNull();
  expect(await transformed(store, { jsonpath: '$.items[*].name' })).toEqual(['a', 'b']);
  expect(await transformed(store, { jsonpath: '$..[?@.level == "error"].name' })).toEqual(['b']);
  expect(await transformed(store, { jsonpath: '$.items[?match(@.name, "[ab]")].name' })).toEqual(['a', 'b']);
  expect(await transformed(store, { jsonpath: '$.items[?search(@.level, "^e")].name' })).toEqual(['b']);
});

test('a template puts the value and parts of it into a text', async () => {
  expect(
    await transformed(
      { a: { 'b-c': [10] }, n: null },
      { template: '{value.a.b-c[0]}, {value.n}{value.no}|{x}' },
    ),
  ).toBe('10, |{x}');
  expect(await transformed([1], { template: 'All: {value}' })).toBe('All: [1]');
  expect(await transformed('{value}', { template: '<{value}>' })).toBe('<{value}>');
});

test('transformations are made in order', async () => {
  const raw = JSON.parse('{"log":["ERROR one","INFO two","ERROR three","ERROR four"]}') as Json;
  const chain: Shape['transform'] = [
    { jsonpath: '$.log' },
    { lines: 'ERROR' },
    { tail: 2 },
    { cel: 'value.join("; ")' },
    { template: 'Errors: {value}' },
  ];
  expect(await transformed(raw, ...chain)).toBe('Errors: ERROR three; ERROR four');
});

test('a transformation that fails is named, with its place in the chain', async () => {
  const error = await failure(transformed('text', { head: 1 }, { cel: 'value.items.size()' }));
  expect(error).toMatchObject({ code: 'feed_transform', retryable: false });
  expect(error.message).toMatch(/^Transformation 2 \(cel\) of the feed "f" failed: /);
  expect((await failure(transformed({}, { jsonpath: '$.[' }))).message).toContain('The JSONPath "$.["');
  expect((await failure(transformed('', { lines: '(?=x)' }))).hint).toContain('RE2');
});

test('what would search without end is refused, or stopped', async () => {
  const refused = [
    '$..*..*',
    '$[?count($..*) > 1]',
    '$[?$.a == $.b]',
    '$[?@..a]',
    '$[*,*,*][*,*,*]',
    '$[?length($.a) > 1]',
    `$${'[*]'.repeat(17)}`,
    `$.${'a'.repeat(600)}`,
  ];
  for (const jsonpath of refused) {
    const error = await failure(transformed({ a: [] }, { jsonpath }));
    expect(error.message).toContain('Transformation 1 (jsonpath)');
  }
  const many = Array.from({ length: 100_001 }, () => 1);
  expect((await failure(transformed(many, { jsonpath: '$[*]' }))).message).toContain('100000 values');
  const evil = Array.from({ length: 50 }, () => 'a'.repeat(20_000));
  const slow = await failure(transformed(evil, { jsonpath: '$[?search(@, "(a*)*(a*)*(a*)*(a*)*b")]' }));
  expect(slow.message).toContain('would take too long');
});

test('a transformation cannot make a value grow without end', async () => {
  const text = 'x'.repeat(400_000);
  const error = await failure(transformed(text, { template: '{value}{value}{value}' }));
  expect(error).toMatchObject({ code: 'feed_transform', message: expect.stringContaining('1048576') });
});
