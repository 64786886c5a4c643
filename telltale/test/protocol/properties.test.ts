import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { ParserEvent } from '../../src/protocol/intents.ts';
import { createTagParser } from '../../src/protocol/tags/tag-parser.ts';
import {
  chunkSizes,
  chunksOf,
  jsonValue,
  longTurn,
  markedTurn,
  noise,
  options,
  quotation,
  turn,
} from './arbitraries.ts';
import { mayBeHeld } from './held-text.ts';
import { fingerprint, parseInChunks, withoutMessages } from './parse-in-chunks.ts';
import { referenceParse } from './reference-parser.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A failure prints its seed; TELLTALE_SEED repeats it and TELLTALE_RUNS looks longer. */
const SEED = process.env.TELLTALE_SEED;
const FACTOR = Number(process.env.TELLTALE_RUNS ?? 1);
const always = <Values extends [unknown, ...unknown[]]>(
  numRuns: number,
  property: fc.IProperty<Values>,
): void =>
  fc.assert(property, { numRuns: numRuns * FACTOR, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });

const spoken = (events: readonly ParserEvent[]) =>
  events.map((event) => (event.type === 'text' || event.type === 'delta' ? event.text : '')).join('');

describe('the parser and the reference reading of the page', () => {
  const agree = (input: string, sizes: readonly number[], given: Parameters<typeof parseInChunks>[1]) => {
    const parsed = parseInChunks(chunksOf(input, sizes), given).events;
    const expected = referenceParse(input, given);
    if (fingerprint(parsed) !== fingerprint(expected))
      expect(withoutMessages(parsed)).toEqual(withoutMessages(expected));
  };

  test('agree on hostile turns, however they are cut', () => {
    always(5000, fc.property(turn, chunkSizes, options, agree));
  });
  test('agree on noise', () => {
    always(5000, fc.property(noise, chunkSizes, options, agree));
  });
  test('agree on tags about as long as a tag may be', () => {
    always(200, fc.property(longTurn, chunkSizes, options, agree));
  });
});

describe('chunking', () => {
  test('does not matter', () => {
    always(
      3000,
      fc.property(fc.oneof(turn, noise), chunkSizes, chunkSizes, options, (input, one, other, given) => {
        const first = fingerprint(parseInChunks(chunksOf(input, one), given).events);
        expect(fingerprint(parseInChunks(chunksOf(input, other), given).events)).toBe(first);
      }),
    );
  });
});

describe('prose', () => {
  test('is never lost: between tags that count every character comes out, once and in order', () => {
    always(
      4000,
      fc.property(markedTurn, chunkSizes, ({ input, fragments, mark }, sizes) => {
        const pieces = spoken(parseInChunks(chunksOf(input, sizes)).events).split(mark);
        expect(pieces).toHaveLength(fragments.length + 2);
        expect([pieces[0], pieces.at(-1)]).toEqual(['', '']);
        for (const [index, fragment] of fragments.entries()) {
          const piece = pieces[index + 1];
          const counted = piece === '' && /^<\/?[a-z]/.test(fragment);
          if (piece !== fragment && !counted) expect(piece).toBe(fragment);
        }
      }),
    );
  });

  test('is never held back beyond what the page allows', () => {
    always(
      3000,
      fc.property(fc.oneof(turn, noise), chunkSizes, (input, sizes) => {
        const { pushes } = parseInChunks(chunksOf(input, sizes));
        let read = '';
        const before: ParserEvent[] = [];
        for (const { chunk, events } of pushes) {
          read += chunk;
          before.push(...events);
          const delivered = spoken(before);
          const ended = spoken(referenceParse(read));
          const held = ended.slice(delivered.length);
          if (!ended.startsWith(delivered) || !mayBeHeld(held, read, before))
            expect.fail(`held back ${JSON.stringify(held)} of ${JSON.stringify(read)}`);
        }
      }),
    );
  });

  test('without any character that could begin something leaves in the call that brought it', () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'é', '.', ' ', '>', '{', '`', '~', '\n', '- ') });
    always(
      2000,
      fc.property(plain, chunkSizes, (text, sizes) => {
        for (const { chunk, events } of parseInChunks(chunksOf(`x${text}`, sizes)).pushes)
          if (spoken(events) !== chunk) expect(spoken(events)).toBe(chunk);
      }),
    );
  });
});

describe('quoted text', () => {
  test('in a fence never acts', () => {
    always(
      2000,
      fc.property(quotation, fc.constantFrom('`', '~'), chunkSizes, ({ text, longestRun }, char, sizes) => {
        const fence = char.repeat(Math.max(3, longestRun + 1));
        const input = `Look:\n${fence}xml\n${text}\n${fence}\nso`;
        expect(parseInChunks(chunksOf(input, sizes)).events).toEqual([{ type: 'text', text: input }]);
      }),
    );
  });

  test('in a span of code never acts', () => {
    always(
      2000,
      fc.property(quotation, chunkSizes, ({ text, longestRun }, sizes) => {
        const ticks = '`'.repeat(longestRun + 1);
        const input = `Look: ${ticks} ${text.replace(/\n/g, ' ')} ${ticks} so`;
        expect(parseInChunks(chunksOf(input, sizes)).events).toEqual([{ type: 'text', text: input }]);
      }),
    );
  });

  test('in a thought does not act and does not end it', () => {
    always(
      2000,
      fc.property(quotation, chunkSizes, ({ text, longestRun }, sizes) => {
        const fence = '`'.repeat(Math.max(3, longestRun + 1));
        const quoted = text.replace(/<\/(?=th)/g, '</ ');
        const held = `Look:\n${fence}\n${quoted}\n${fence}\nso`;
        expect(parseInChunks(chunksOf(`<thought>${held}</thought>`, sizes)).events).toEqual([
          { type: 'open', tag: 'thought', depth: 0 },
          { type: 'delta', tag: 'thought', text: held },
          { type: 'close', tag: 'thought' },
        ]);
      }),
    );
  });
});

describe('every JSON value', () => {
  const indent = fc.constantFrom(undefined, 2, '\t');

  test('comes through an action as it was written', () => {
    always(
      3000,
      fc.property(jsonValue, indent, chunkSizes, (value, space, sizes) => {
        const body = JSON.stringify({ name: 'n', parameters: { value } }, null, space);
        const { events } = parseInChunks(chunksOf(`<action id="x">${body}</action>`, sizes));
        const parameters = { value };
        expect(fingerprint(events)).toBe(
          fingerprint([
            { type: 'action', id: 'x', kind: 'tool', mode: 'async', name: 'n', parameters } as ParserEvent,
          ]),
        );
      }),
    );
  });

  test('comes through metadata as it was written', () => {
    always(
      3000,
      fc.property(jsonValue, indent, chunkSizes, (value, space, sizes) => {
        const body = JSON.stringify({ value }, null, space);
        const { events } = parseInChunks(chunksOf(`<metadata>\n${body}\n</metadata>`, sizes));
        expect(fingerprint(events)).toBe(
          fingerprint([{ type: 'metadata', value: { value } } as ParserEvent]),
        );
      }),
    );
  });
});

describe('nothing a model can write', () => {
  test('makes the parser throw', () => {
    always(
      3000,
      fc.property(
        fc.string({ unit: 'binary', maxLength: 200 }),
        chunkSizes,
        options,
        (input, sizes, given) => {
          expect(() => parseInChunks(chunksOf(input, sizes), given)).not.toThrow();
        },
      ),
    );
  });

  const MILLION = 1_000_000;
  test.each([
    '<',
    '`',
    '~',
    '\n',
    ' ',
    '</',
    '<if ',
    '<thought>',
    '</thought>',
    '<action>',
    '<action>{',
    '<action>{"',
    '<foreach in=x>',
    '"',
    '\\',
    '\u0000',
    '\ud83d',
    '\ude00',
    '\r',
    '```\n',
    '<thought a="',
    '<parallel>',
    '<else/>',
    '<if test="x">',
  ])('takes a million characters of %j in linear time', (unit) => {
    const input = unit.repeat(Math.ceil(MILLION / unit.length));
    const parser = createTagParser({});
    const started = performance.now();
    for (const chunk of chunksOf(input, [4093, 1, 257])) parser.push(chunk);
    parser.end();
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(parser.consumed).toBe(input.length);
  });
});

describe('the books', () => {
  const idsOf = (events: readonly ParserEvent[]): string[] =>
    events.flatMap((event) => {
      if (event.type === 'action') return [event.id];
      if (event.type === 'foreach') return idsOf(event.actions);
      return event.type === 'parallel' && event.id !== undefined ? [event.id] : [];
    });

  test('the ids at the end are those given and those of the events, no more', () => {
    always(
      4000,
      fc.property(turn, chunkSizes, options, (input, sizes, given) => {
        const { events, ids } = parseInChunks(chunksOf(input, sizes), given);
        expect([...ids].sort()).toEqual([...new Set([...(given.ids ?? []), ...idsOf(events)])].sort());
      }),
    );
  });

  test('consumed never runs ahead, never goes back, and ends at the end', () => {
    always(
      4000,
      fc.property(turn, chunkSizes, options, (input, sizes, given) => {
        const { pushes, consumed } = parseInChunks(chunksOf(input, sizes), given);
        let pushed = 0;
        let before = 0;
        for (const push of pushes) {
          pushed += push.chunk.length;
          if (push.consumed > pushed || push.consumed < before)
            expect.fail(`consumed is ${push.consumed} after ${before}, with ${pushed} pushed`);
          before = push.consumed;
        }
        expect(consumed).toBe(input.length);
      }),
    );
  });

  test('every fault has a message', () => {
    always(
      2000,
      fc.property(turn, options, (input, given) => {
        for (const event of parseInChunks([input], given).events)
          if (event.type === 'fault') expect(event.message).toMatch(/\S/);
      }),
    );
  });
});
