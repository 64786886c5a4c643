import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import type { ActionState } from '../../src/log/action.ts';
import { renderResults } from '../../src/prompt/render-results.ts';
import { readOutput } from '../../src/prompt/show-result.ts';
import { clip, createEscape, cutText } from '../../src/prompt/text.ts';

/** The defaults. */
const MAX_SHOWN = 32 * 1024;
const MAX_RESULTS = 4 * MAX_SHOWN;

const ended = (id: string, output: Json, keys: Partial<ActionState['action']> = {}): ActionState => ({
  action: { id, kind: 'tool', mode: 'async', name: 'fetch', parameters: {}, ...keys },
  turn: 1,
  status: 'completed',
  attempts: 1,
  output,
  ms: 5,
});

const shown = (states: readonly ActionState[], canReadOutput = true) =>
  renderResults(
    states.map(({ action }) => action.id),
    new Map(states.map((state) => [state.action.id, state])),
    { safe: createEscape(), canReadOutput, maxResult: MAX_SHOWN },
  );

const wide = fc.string({
  unit: fc.constantFrom('a', '\n', '<', 'é', '\ud83d\ude00', '</result>'),
  maxLength: 400,
});
const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

describe('a long result', () => {
  it('is shown as head and tail, with what is missing and how to see it', () => {
    const output = `${'a'.repeat(36_000)}${'z'.repeat(12_000)}`;
    const [text = ''] = shown([ended('a1', output)]);
    const omitted = output.length - MAX_SHOWN;
    expect(text).toContain(`<result id="a1" name="fetch" status="ok" ms="5" truncated="${omitted}">\naaa`);
    expect(text).toContain(
      `\n[… ${omitted} characters left out; read_output with {"id": "a1", "offset": ${MAX_SHOWN * 0.75}} shows them …]\nzzz`,
    );
    expect(shown([ended('a1', output)], false)[0]).toContain(`[… ${omitted} characters left out …]`);
  });

  it('can be read to its end, page by page, from where the head ends', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 1, max: 50 }), (output, limit) => {
        const state = ended('a1', output);
        let text = '';
        let at: number | undefined = 0;
        while (at !== undefined) {
          const page: ReturnType<typeof readOutput> = readOutput(state, MAX_SHOWN, at, limit);
          expect(page.offset).toBe(at);
          expect(page.total).toBe(output.length);
          expect(isWellFormed(page.text)).toBe(true);
          text += page.text;
          at = page.next_offset;
        }
        expect(text).toBe(output);
      }),
    );
  });

  it.each([
    [-5, 10, 'abc', undefined],
    [Number.NaN, Number.NaN, 'ab', 2],
    [1.7, 2.9, 'bc', undefined],
    [99, 10, '', undefined],
  ])('is read with any numbers: offset %d, limit %d', (offset, limit, text, next) => {
    const page = readOutput(ended('a1', 'abc'), MAX_SHOWN, offset, limit);
    expect(page.text).toBe(text);
    expect(page.next_offset).toBe(next);
  });

  it('is never read in larger pages than a result shows', () => {
    expect(readOutput(ended('a1', 'x'.repeat(100_000)), MAX_SHOWN, 0, 1e9).text).toHaveLength(MAX_SHOWN);
  });

  it('shows a page of it as the text it is', () => {
    const page = readOutput(ended('a1', `line\n${'x'.repeat(MAX_SHOWN * 2)}`), MAX_SHOWN);
    const state = {
      ...ended('a2', { ...page }, { kind: 'internal', name: 'read_output' }),
      input: { id: 'a1' },
    };
    const [text = ''] = shown([state]);
    expect(text).toMatch(
      /^<result id="a2" name="read_output" status="ok" ms="5" offset="0" next_offset="32768" total="65541">\nline\nxxx/,
    );
    expect(text).toContain(
      '[… 32773 characters left; read_output with {"id": "a1", "offset": 32768} shows them …]\n</result>',
    );
    expect(text).not.toContain('truncated');
  });

  it('of any kind can be read: compact JSON, or the error', () => {
    expect(readOutput(ended('a1', { a: [1] }), MAX_SHOWN).text).toBe('{"a":[1]}');
    const broke = { code: 'x', message: 'Broke.', hint: 'Mend it.', retryable: false };
    expect(readOutput({ ...ended('a1', null), status: 'failed', error: broke }, MAX_SHOWN).text).toBe(
      'x: Broke. Mend it.',
    );
  });
});

describe('many results', () => {
  it('share the room of a block', () => {
    const texts = shown(Array.from({ length: 32 }, (_, i) => ended(`a${i}`, 'x'.repeat(40_000))));
    expect(texts).toHaveLength(32);
    expect(texts.join('').length).toBeLessThan(MAX_RESULTS * 1.2);
    const sizes = texts.map((text) => text.length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(500);
  });

  it('leave what small ones do not need to large ones', () => {
    const small = Array.from({ length: 30 }, (_, i) => ended(`s${i}`, 'ok'));
    const texts = shown([...small, ended('big', 'x'.repeat(MAX_SHOWN))]);
    expect(texts.at(-1)).not.toContain('truncated');
  });

  it('never pass the room by much, however many and however large: the rest is named', () => {
    const texts = shown(Array.from({ length: 5000 }, (_, i) => ended(`a${i}`, '<if '.repeat(1000))));
    expect(texts.join('').length).toBeLessThan(MAX_RESULTS + 2 * MAX_SHOWN);
    expect(texts.at(-1)).toMatch(
      /^\[… \d+ more actions ended, not shown here: a\d+ ok, .* and \d+ more\. read_output shows each of them\. …\]$/,
    );
  });

  it('part no surrogate pair and hold no reserved tag but their own', () => {
    fc.assert(
      fc.property(fc.array(wide, { maxLength: 12 }), fc.integer({ min: 1, max: 60 }), (outputs, times) => {
        const texts = shown(outputs.map((output, i) => ended(`a${i}`, output.repeat(times))));
        for (const text of texts) {
          expect(isWellFormed(text)).toBe(true);
          expect(text.match(/<\/?result/g)).toHaveLength(2);
        }
      }),
    );
  });
});

describe('a cut', () => {
  it('leaves a head, a tail and the number of characters between', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 1, max: 300 }), (text, max) => {
        const { head, tail, omitted } = cutText(text, max);
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(head.length + omitted + tail.length).toBe(text.length);
        expect(head.length + tail.length).toBeLessThanOrEqual(max + 1);
        expect(isWellFormed(head) && isWellFormed(tail)).toBe(true);
        expect(isWellFormed(clip(text, max))).toBe(true);
      }),
    );
  });
});
