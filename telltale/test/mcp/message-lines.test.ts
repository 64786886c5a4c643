import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSseReader, type SseEvent } from '../../src/lib/sse-reader.ts';
import { createMessageLines } from '../../src/mcp/server-process.ts';

const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...chunks, bytes.subarray(from)];
};

test('however the stream is cut, the same lines come out', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !/[\n\r]/.test(text));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(10)), fc.constantFrom('\n', '\r\n'), (texts, sizes, end) => {
      const lines: string[] = [];
      const reader = createMessageLines(1_000, (text) => lines.push(text));
      for (const chunk of cut(Buffer.from(texts.map((text) => text + end).join('')), sizes))
        expect(reader.push(chunk)).toBe(true);
      expect(lines).toEqual(texts.map((text) => text.trim()).filter((text) => text !== ''));
    }),
  );
});

test('a line that is too long ends it, whether or not its end has come', () => {
  for (const chunks of [['x'.repeat(11)], ['x'.repeat(6), 'x'.repeat(5)], [`${'x'.repeat(11)}\n`]]) {
    const lines: string[] = [];
    const reader = createMessageLines(10, (text) => lines.push(text));
    expect(reader.push(Buffer.from('short\n'))).toBe(true);
    expect(chunks.map((chunk) => reader.push(Buffer.from(chunk))).at(-1)).toBe(false);
    expect(reader.push(Buffer.from('more\n'))).toBe(false);
    expect(lines).toEqual(['short']);
  }
});

const readEvents = (chunks: readonly Uint8Array[], maxBytes = 10_000) => {
  const events: SseEvent[] = [];
  const retries: number[] = [];
  const reader = createSseReader(maxBytes, {
    event: (event) => events.push(event),
    retry: (ms) => retries.push(ms),
  });
  return { taken: chunks.map((chunk) => reader.push(chunk)), events, retries };
};

test('however a stream of events is cut, the same events come out', () => {
  const words = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !/[\n\r\ufeff]/.test(text));
  const one = fc.record({
    data: fc.array(words, { minLength: 1, maxLength: 3 }),
    id: fc.option(fc.stringMatching(/^[a-z0-9]{1,5}$/)),
    comment: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(one),
      fc.array(fc.nat(10)),
      fc.constantFrom('\n', '\r\n', '\r'),
      (given, sizes, end) => {
        let id: string | undefined;
        const expected = given.map((event) => {
          id = event.id ?? id;
          return { id, event: 'message', data: event.data.join('\n') };
        });
        const text = given
          .map(({ data, id: own, comment }) =>
            [
              ...(comment ? [': keep'] : []),
              ...(own === null ? [] : [`id: ${own}`]),
              ...data.map((line) => `data: ${line}`),
              '',
              '',
            ].join(end),
          )
          .join('');
        const { events, taken } = readEvents(cut(Buffer.from(text), sizes));
        expect(events).toEqual(expected);
        expect(taken.every(Boolean)).toBe(true);
      },
    ),
  );
});

test('fields of an event are read as the standard has them', () => {
  const text =
    '\ufeffretry: 500\nretry: soon\nid: 1\n\nevent: other\ndata\ndata:two\ndata:  three\nodd: x\n\n: only a comment\n\nid\ndata: z\n\ndata: not ended\n';
  const { events, retries } = readEvents([Buffer.from(text)]);
  expect(retries).toEqual([500]);
  expect(events).toEqual([
    { id: '1', event: 'message', data: '' },
    { id: '1', event: 'other', data: '\ntwo\n three' },
    { id: undefined, event: 'message', data: 'z' },
  ]);
});

test('an event that is too long ends the stream, however many lines it has; comments may come for ever', () => {
  for (const text of [`data: ${'x'.repeat(200)}`, 'data: xxxxxxxx\n'.repeat(20)]) {
    const { taken, events } = readEvents(
      [Buffer.from('data: ok\n\n'), Buffer.from(text), Buffer.from('\n\n')],
      100,
    );
    expect(taken).toEqual([true, false, false]);
    expect(events).toHaveLength(1);
  }
  expect(readEvents([Buffer.from(': keep-alive\n'.repeat(1_000))], 100).taken).toEqual([true]);
});
