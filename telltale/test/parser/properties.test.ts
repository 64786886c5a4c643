import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ParserEvent } from '../../src/parser/intents.ts';
import { createTagParser } from '../../src/parser/tags/tag-parser.ts';
import { moreRuns } from '../more-runs.ts';
import {
  attributeTurn,
  bodyTurn,
  branchTurn,
  codeTurn,
  jsonValue,
  longTurn,
  markedTurn,
  noise,
  options,
  quotation,
  turn,
} from './arbitraries.ts';
import { chunkSizes, chunksOf } from './chunking.ts';
import { envelopeTurn } from './envelope-arbitrary.ts';
import { mayBeHeld } from './held-text.ts';
import { fingerprint, parseInChunks, withoutMessages } from './parse-in-chunks.ts';
import { referenceParse } from './reference-parser.ts';

const always = <Values extends [unknown, ...unknown[]]>(
  numRuns: number,
  property: fc.IProperty<Values>,
  examples: Values[] = [],
): void => fc.assert(property, { numRuns: moreRuns(numRuns), examples });

const anyTurn = fc.oneof(turn, codeTurn, attributeTurn, bodyTurn, branchTurn, noise);

const spoken = (events: readonly ParserEvent[]) =>
  events.map((event) => (event.type === 'text' || event.type === 'delta' ? event.text : '')).join('');

describe('the parser and the reference reading of the page', () => {
  const agree = (input: string, sizes: readonly number[], given: Parameters<typeof parseInChunks>[1]) => {
    const parsed = parseInChunks(chunksOf(input, sizes), given).events;
    const expected = referenceParse(input, given);
    if (fingerprint(parsed) !== fingerprint(expected))
      expect(withoutMessages(parsed)).toEqual(withoutMessages(expected));
  };

  test.each([
    ['hostile turns', turn, 4000],
    ['code and what still counts in it', codeTurn, 3000],
    ['attributes cut up', attributeTurn, 3000],
    ['bodies cut up', bodyTurn, 3000],
    ['ids in branches', branchTurn, 2000],
    ['fields of every kind', envelopeTurn, 3000],
    ['tags about as long as a tag may be', longTurn, 100],
    ['noise', noise, 3000],
  ] as const)('agree on %s, however it is cut', (_, input, runs) => {
    always(runs, fc.property(input, chunkSizes, options, agree));
  });
});

describe('chunking', () => {
  test('does not matter', () => {
    always(
      3000,
      fc.property(anyTurn, chunkSizes, chunkSizes, options, (input, one, other, given) => {
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
      800,
      fc.property(anyTurn, chunkSizes, (input, sizes) => {
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
      [['<thought><action/><foreach in="$l">\n </action\n</foreach></thought>', [1]]],
    );
  });

  test('that can be no tag here would be found if it were held back', () => {
    const inResponse: ParserEvent[] = [{ type: 'open', tag: 'response', depth: 0, final: true }];
    for (const held of [
      'word',
      '<b',
      '<thought about it',
      '<actions',
      '</thought x',
      ' a',
      '\n<thought>a',
      '<if test="x">',
    ])
      expect(mayBeHeld(held, `a${held}`, [{ type: 'text', text: 'a' }]), held).toBe(false);
    for (const held of ['<thought a=', '<action>', '<if test="'])
      expect(mayBeHeld(held, `<response>${held}`, inResponse), held).toBe(false);
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

describe('an event', () => {
  const isSpeech = (event: ParserEvent) => event.type === 'text' || event.type === 'delta';
  /** An action with a name and nothing in it acts once it is known to stand alone on its line. */
  const EMPTY = /<action[^<]*\bname\s*=[^<]*>[ \t\r\n]*(?:<\/action[ \t\r\n]*>)?[ \t\r]*(?:<[^>]*)?$/;
  const isEmpty = (event: ParserEvent) =>
    event.type === 'action' && Object.keys(event.parameters).length === 0;
  /** What the end of the stream, or of a line, may still have to decide. */
  const waits = (event: ParserEvent) =>
    event.type === 'fault' ||
    event.type === 'close' ||
    event.type === 'foreach' ||
    ((event.type === 'if' || event.type === 'parallel') && event.body === 'close');

  test('comes in the call that brought the last character of its tag', () => {
    always(
      800,
      fc.property(anyTurn, chunkSizes, options, (input, sizes, given) => {
        const { pushes } = parseInChunks(chunksOf(input, sizes), given);
        let read = '';
        const before: ParserEvent[] = [];
        for (const { chunk, events } of pushes) {
          read += chunk;
          before.push(...events.filter((event) => !isSpeech(event)));
          const ended = parseInChunks([read], given).events.filter((event) => !isSpeech(event));
          const rest = ended.slice(before.length);
          if (
            fingerprint(before) !== fingerprint(ended.slice(0, before.length)) ||
            !rest.every((event) => waits(event) || (isEmpty(event) && EMPTY.test(read)))
          )
            expect.fail(`after ${JSON.stringify(read)} there was still to come ${fingerprint(rest)}`);
        }
      }),
      [['<action name=m></action>', [1], {}]],
    );
  });

  test('about a body that is too large comes when the body passes the limit', () => {
    const parser = createTagParser({ max_body: 8 });
    expect(withoutMessages(parser.push('<metadata>{"a": "b'))).toEqual([]);
    expect(withoutMessages(parser.push('c'))).toEqual([{ type: 'fault', code: 'body_too_large' }]);
    expect(withoutMessages([...parser.push('"}</metadata>'), ...parser.end()])).toEqual([]);
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

  test('consumed ends with the last event: what is held is not in it', () => {
    const parser = createTagParser({});
    parser.push('Go <act');
    expect(parser.consumed).toBe('Go '.length);
    parser.push('ion>{"name": "n"}</action>  ');
    expect(parser.consumed).toBe('Go <action>{"name": "n"}</action>'.length);
    parser.push('on');
    expect(parser.consumed).toBe('Go <action>{"name": "n"}</action>  on'.length);
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

describe('a parser that is renewed', () => {
  test('reads the next turn as a new one does, however the one before ended', () => {
    always(
      4000,
      fc.property(
        anyTurn,
        fc.boolean(),
        anyTurn,
        chunkSizes,
        options,
        (before, ended, input, sizes, given) => {
          const ids = new Set(given.ids);
          const parser = createTagParser({ ...given, ids });
          for (const chunk of chunksOf(before, sizes)) parser.push(chunk);
          if (ended) parser.end();
          const taken = new Set(ids);
          parser.renew();
          expect(parser.consumed).toBe(0);
          const events = [...chunksOf(input, sizes).flatMap((chunk) => parser.push(chunk)), ...parser.end()];
          const fresh = createTagParser({ ...given, ids: taken });
          const expected = [...chunksOf(input, sizes).flatMap((chunk) => fresh.push(chunk)), ...fresh.end()];
          expect(fingerprint(events)).toBe(fingerprint(expected));
          expect([parser.consumed, [...ids]]).toEqual([fresh.consumed, [...taken]]);
        },
      ),
    );
  });
});

describe('parsers that read in turns', () => {
  test('know nothing of each other, wherever the chunks of one are among those of the other', () => {
    always(
      4000,
      fc.property(anyTurn, chunkSizes, anyTurn, chunkSizes, (one, sizes, other, otherSizes) => {
        const inputs = [chunksOf(one, sizes), chunksOf(other, otherSizes)] as const;
        const parsers = inputs.map(() => createTagParser());
        const events = inputs.map((): ParserEvent[] => []);
        for (let at = 0; at < Math.max(...inputs.map(({ length }) => length)); at++)
          for (const [which, chunks] of inputs.entries()) {
            const chunk = chunks[at];
            if (chunk !== undefined) events[which]?.push(...(parsers[which]?.push(chunk) ?? []));
          }
        for (const [which, chunks] of inputs.entries()) {
          events[which]?.push(...(parsers[which]?.end() ?? []));
          const alone = createTagParser();
          const expected = [...chunks.flatMap((chunk) => alone.push(chunk)), ...alone.end()];
          expect(fingerprint(events[which] ?? [])).toBe(fingerprint(expected));
        }
      }),
    );
  });
});
