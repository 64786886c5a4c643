import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createTagParser } from '../../src/parser/index.ts';
import { chunksOf } from './chunking.ts';
import { fingerprint, parseInChunks, withoutMessages } from './parse-in-chunks.ts';
import { readCases } from './worked-cases.ts';

const CHUNKINGS = 200;
const SEED = Number(process.env.CHECK_SEED ?? 20_261_115);
const FILES = ['vectors/protocol.jsonl', 'vectors/protocol-options.jsonl', 'cases.jsonl'];
/** Beside the repository on the machines where the page is written; a clone goes without. */
const ORIGINALS = new URL('../../../../shared/vectors/next/', import.meta.url);

describe.each(FILES)('%s', (file) => {
  describe.each(readCases(new URL(file, import.meta.url)))('$name', ({ input, options, events }) => {
    test('holds when the turn comes whole', () => {
      expect(withoutMessages(parseInChunks([input], options).events)).toEqual(events);
    });

    test('holds when it comes a character at a time', () => {
      expect(withoutMessages(parseInChunks(chunksOf(input, [1]), options).events)).toEqual(events);
    });

    test(`holds however it is cut (${CHUNKINGS} ways)`, () => {
      const random = pseudoRandom(SEED);
      const expected = fingerprint(events);
      for (let way = 0; way < CHUNKINGS; way++) {
        const sizes = randomSizes(random, input.length);
        const got = fingerprint(parseInChunks(chunksOf(input, sizes), options).events);
        expect(got, `seed ${SEED}, way ${way}, chunks of ${sizes.join(', ')}`).toBe(expected);
      }
    });

    test('every fault says something', () => {
      const faults = parseInChunks([input], options).events.filter((event) => event.type === 'fault');
      for (const fault of faults) expect(fault.message).toMatch(/\S/);
    });
  });
});

describe('inDoubt', () => {
  const input = '<if>\n<action>{"name": "x"}</action>';

  test('holds from the character that brought the doubt on, and not in the next turn', () => {
    const parser = createTagParser();
    const doubts = [...input].map((char) => {
      parser.push(char);
      return parser.inDoubt();
    });
    expect(doubts.indexOf(true)).toBe('<if'.length);
    expect(doubts.lastIndexOf(false)).toBe('<if'.length - 1);
    parser.renew();
    expect(parser.inDoubt()).toBe(false);
  });

  test('a case that says so ends in doubt', () => {
    for (const { name, input: turn, options } of FILES.flatMap((file) =>
      readCases(new URL(file, import.meta.url)),
    )) {
      if (!name.startsWith('In doubt')) continue;
      const parser = createTagParser({ ...options, ids: new Set(options?.ids ?? []) });
      parser.push(turn);
      parser.end();
      expect(parser.inDoubt(), name).toBe(true);
    }
  });
});

if (existsSync(ORIGINALS)) {
  test('the copied vectors are the originals', () => {
    for (const name of ['protocol.jsonl', 'protocol-options.jsonl']) {
      const copy = readFileSync(new URL(`vectors/${name}`, import.meta.url), 'utf8');
      expect(copy).toBe(readFileSync(new URL(name, ORIGINALS), 'utf8'));
    }
  });
}

/** Small chunks, large ones and empty ones; sizes that fit the length so that long turns are cut rarely. */
function randomSizes(random: () => number, length: number): number[] {
  const largest = 1 + Math.floor(random() * Math.max(3, length / 4));
  return Array.from({ length: 1 + Math.floor(random() * 9) }, () => Math.floor(random() * (largest + 1)));
}

/** mulberry32: numbers in [0, 1) that a seed decides. */
function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
