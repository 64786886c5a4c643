import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Result } from '../../src/lib/errors.ts';
import { BYTE_SIZE_PATTERN, DURATION_PATTERN, parseByteSize, parseDuration } from '../../src/lib/quantity.ts';
import { moreRuns } from '../more-runs.ts';

const DURATION_HINT = 'Write it like "250ms", "30s", "5m", "1h30m" or a bare number of seconds.';
const SIZE_HINT = 'Write it like "512B", "64KiB", "1.5MiB", "2GB" or a bare number of bytes.';

describe('durations', () => {
  it.each<[string | number, number]>([
    ['30s', 30_000],
    ['250ms', 250],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1 h 30 m', 5_400_000],
    [' 1h  30m ', 5_400_000],
    ['1.5h', 5_400_000],
    ['1w2d3h4m5s6ms', 788_645_006],
    ['0', 0],
    ['0s', 0],
    ['90', 90_000],
    ['1.5', 1_500],
    ['1.005s', 1_005],
    [2, 2_000],
    [0.25, 250],
    [0, 0],
    [1e3, 1_000_000],
  ])('%j is %i ms', (input, ms) => {
    expect(parseDuration(input)).toEqual({ ok: true, value: ms });
  });

  it.each<[string | number, string, string]>([
    ['-1s', 'The duration "-1s" cannot be read from "-1s" on.', DURATION_HINT],
    ['', 'The duration "" is empty.', DURATION_HINT],
    ['   ', 'The duration "   " is empty.', DURATION_HINT],
    [
      '5 minutes',
      'The duration "5 minutes" has an unknown unit "minutes".',
      `Did you mean "m"? ${DURATION_HINT}`,
    ],
    ['5min', 'The duration "5min" has an unknown unit "min".', `Did you mean "m"? ${DURATION_HINT}`],
    ['3Sec', 'The duration "3Sec" has an unknown unit "Sec".', `Did you mean "s"? ${DURATION_HINT}`],
    ['1e3', 'The duration "1e3" has an unknown unit "e".', `Units: ms, s, m, h, d, w. ${DURATION_HINT}`],
    ['1y', 'The duration "1y" has an unknown unit "y".', `Units: ms, s, m, h, d, w. ${DURATION_HINT}`],
    ['30m1h', 'The duration "30m1h" has "h" out of order (large units first, each once).', DURATION_HINT],
    ['1h1h', 'The duration "1h1h" has "h" out of order (large units first, each once).', DURATION_HINT],
    ['1h30', 'The duration "1h30" cannot be read from "30" on.', DURATION_HINT],
    ['s', 'The duration "s" cannot be read from "s" on.', DURATION_HINT],
    ['.5s', 'The duration ".5s" cannot be read from ".5s" on.', DURATION_HINT],
    ['1,5s', 'The duration "1,5s" cannot be read from "1,5s" on.', DURATION_HINT],
    ['soon', 'The duration "soon" cannot be read from "soon" on.', DURATION_HINT],
    ['99999999999999999999w', 'The duration "99999999999999999999w" is too large.', DURATION_HINT],
    [
      `${'9'.repeat(400)}s`,
      `The duration "${'9'.repeat(40)}…" is no finite number of zero or more.`,
      DURATION_HINT,
    ],
    [-1, 'The duration "-1" is no finite number of zero or more.', DURATION_HINT],
    [Number.NaN, 'The duration "NaN" is no finite number of zero or more.', DURATION_HINT],
    [Number.POSITIVE_INFINITY, 'The duration "Infinity" is no finite number of zero or more.', DURATION_HINT],
  ])('%j is refused', (input, message, hint) => {
    expect(parseDuration(input)).toMatchObject({ ok: false, error: { code: 'bad_duration', message, hint } });
  });

  it('what is written in whole units is read exactly', () => {
    const part = fc.nat({ max: 999 });
    fc.assert(
      fc.property(part, part, part, part, (d, h, m, ms) => {
        const read = parseDuration(`${d}d${h}h ${m}m${ms}ms`);
        return read.ok && read.value === d * 86_400_000 + h * 3_600_000 + m * 60_000 + ms;
      }),
    );
  });

  it('thousandths of a second are read exactly', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), (ms) => {
        const read = parseDuration(`${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}s`);
        return read.ok && read.value === ms;
      }),
    );
  });

  it('any text is answered, never thrown at', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('1', '.', 's', 'm', 'h', ' ', '-') })),
        (text) => {
          const read = parseDuration(text);
          return read.ok ? read.value >= 0 : read.error.code === 'bad_duration';
        },
      ),
      { numRuns: moreRuns(2_000) },
    );
  });
});

describe('sizes', () => {
  it.each<[string | number, number]>([
    ['64KiB', 65_536],
    ['64KB', 64_000],
    ['64 KiB', 65_536],
    ['1.5MiB', 1_572_864],
    ['2GB', 2e9],
    ['1TiB', 2 ** 40],
    ['512B', 512],
    ['512', 512],
    ['1MiB 1KiB', 1_049_600],
    [1024, 1_024],
    [0, 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740989 B', Number.MAX_SAFE_INTEGER - 2],
  ])('%j is %i bytes', (input, bytes) => {
    expect(parseByteSize(input)).toEqual({ ok: true, value: bytes });
  });

  it.each<[string | number, string, string]>([
    ['64kb', 'The size "64kb" has an unknown unit "kb".', `Did you mean "KB"? ${SIZE_HINT}`],
    ['64K', 'The size "64K" has an unknown unit "K".', `Did you mean "KiB"? ${SIZE_HINT}`],
    ['10 bytes', 'The size "10 bytes" has an unknown unit "bytes".', `Did you mean "B"? ${SIZE_HINT}`],
    [
      '1PB',
      'The size "1PB" has an unknown unit "PB".',
      `Units: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB. ${SIZE_HINT}`,
    ],
    ['1.5B', 'The size "1.5B" is 1.5 bytes, which is not a whole number.', SIZE_HINT],
    [0.5, 'The size "0.5" is 0.5 bytes, which is not a whole number.', SIZE_HINT],
    ['', 'The size "" is empty.', SIZE_HINT],
    ['-5MB', 'The size "-5MB" cannot be read from "-5MB" on.', SIZE_HINT],
    ['99999999TiB', 'The size "99999999TiB" is too large.', SIZE_HINT],
    ['9007199254740992', 'The size "9007199254740992" is too large.', SIZE_HINT],
  ])('%j is refused', (input, message, hint) => {
    expect(parseByteSize(input)).toMatchObject({ ok: false, error: { code: 'bad_size', message, hint } });
  });
});

describe('the patterns for JSON Schemas', () => {
  const text = fc
    .array(
      fc.constantFrom(
        '1',
        '0',
        '30',
        '9007199254740993',
        '.5',
        '1.',
        ' ',
        '\t',
        '-',
        'x',
        'w',
        'd',
        'h',
        'm',
        's',
        'ms',
        'min',
        'B',
        'KB',
        'KiB',
        'MB',
        'MiB',
        'GB',
        'GiB',
        'TB',
        'TiB',
        'k',
        '$',
      ),
      { maxLength: 8 },
    )
    .map((pieces) => pieces.join(''));

  /** A pattern sees how something is written, not how much it is. */
  const isWritten = (read: Result<number>) =>
    read.ok || /not a whole number|too large/.test(read.error.message);

  it('take exactly the durations that are read, and those that are too large', () => {
    const pattern = new RegExp(DURATION_PATTERN, 'u');
    fc.assert(
      fc.property(text, (input) => {
        expect(pattern.test(input)).toBe(isWritten(parseDuration(input)));
      }),
      { numRuns: moreRuns(3000) },
    );
  });

  it('take exactly the sizes that are read, parts of a byte, and those that are too large', () => {
    const pattern = new RegExp(BYTE_SIZE_PATTERN, 'u');
    fc.assert(
      fc.property(text, (input) => {
        expect(pattern.test(input)).toBe(isWritten(parseByteSize(input)));
      }),
      { numRuns: moreRuns(3000) },
    );
  });

  it('take references to the environment, which are not put in yet', () => {
    for (const pattern of [DURATION_PATTERN, BYTE_SIZE_PATTERN])
      expect(new RegExp(pattern, 'u').test('${LIMIT:-5}')).toBe(true);
  });
});
