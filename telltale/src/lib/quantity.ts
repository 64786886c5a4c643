import { err, ok, type Result, RuntimeError } from './errors.ts';

/** One kind of human quantity: its units by name, in the base unit, largest last. */
interface Scale {
  readonly what: string;
  readonly code: string;
  readonly units: ReadonlyMap<string, number>;
  /** The unit of a bare number. */
  readonly bare: string;
  readonly example: string;
  /** What people write in place of a unit's name, in lower case, and the unit they mean. */
  readonly words: ReadonlyMap<string, string>;
}

/** Entries for `Scale.words`. */
const spelt = (unit: string, ...words: readonly string[]) => words.map((word) => [word, unit] as const);

const PART = /^(\d+(?:\.\d+)?) ?([A-Za-z]+)/;

/**
 * Reads `30s`, `1h30m`, `64KiB` or a bare number into the base unit of `scale`. Bounded: a quantity has at most
 * one part for each unit, from large to small.
 */
function readQuantity(input: string | number, scale: Scale): Result<number> {
  const bareFactor = scale.units.get(scale.bare) ?? 1;
  if (typeof input === 'number') return checked(input * bareFactor, String(input), scale);
  const text = input.trim();
  if (text === '') return err(wrong(scale, 'is empty', input));
  if (/^\d+(\.\d+)?$/.test(text)) return checked(Number(text) * bareFactor, input, scale);
  let rest = text;
  let total = 0;
  let smallest = Number.POSITIVE_INFINITY;
  while (rest !== '') {
    const part = PART.exec(rest);
    if (part === null) return err(wrong(scale, `cannot be read from "${clip(rest)}" on`, input));
    const [matched, amount = '', unit = ''] = part;
    const factor = scale.units.get(unit);
    if (factor === undefined) return err(unitUnknown(scale, unit, input));
    if (factor >= smallest)
      return err(wrong(scale, `has "${unit}" out of order (large units first, each once)`, input));
    smallest = factor;
    total += Number(amount) * factor;
    rest = rest.slice(matched.length).trimStart();
  }
  return checked(total, input, scale);
}

/**
 * What texts `readQuantity` reads, as a pattern of JSON Schema, but for what is too large. Also any text with `${`: an
 * editor sees a file before the environment is put in.
 */
function quantityPattern({ units }: Pick<Scale, 'units'>): string {
  const number = '\\d+(?:\\.\\d+)?';
  const largestFirst = [...units].sort(([, one], [, other]) => other - one);
  const parts = largestFirst.map(([unit]) => `(?:${number} ?${unit}\\s*)?`).join('');
  return `^\\s*(?=\\d)(?:${number}\\s*|${parts})$|\\$\\{`;
}

/** 1.005 * 1,000 is 1,004.9999999999999: what was written has no more than a few decimals. */
const PRECISION = 1e6;
const EXACT_BELOW = Number.MAX_SAFE_INTEGER / PRECISION;

function checked(value: number, input: string, scale: Scale): Result<number> {
  if (!Number.isFinite(value) || value < 0)
    return err(wrong(scale, 'is no finite number of zero or more', input));
  if (value > Number.MAX_SAFE_INTEGER) return err(wrong(scale, 'is too large', input));
  return ok(value < EXACT_BELOW ? Math.round(value * PRECISION) / PRECISION : value);
}

const clip = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

const wrong = (scale: Scale, why: string, input: string) =>
  new RuntimeError(scale.code, `The ${scale.what} "${clip(input)}" ${why}.`, {
    hint: `Write it like ${scale.example}.`,
  });

function unitUnknown(scale: Scale, unit: string, input: string): RuntimeError {
  const meant = scale.words.get(unit.toLowerCase());
  const known =
    meant === undefined ? `Units: ${[...scale.units.keys()].join(', ')}.` : `Did you mean "${meant}"?`;
  return new RuntimeError(
    scale.code,
    `The ${scale.what} "${clip(input)}" has an unknown unit "${clip(unit)}".`,
    {
      hint: `${known} Write it like ${scale.example}.`,
    },
  );
}

const BYTE_SIZE = {
  what: 'size',
  code: 'bad_size',
  bare: 'B',
  example: '"512B", "64KiB", "1.5MiB", "2GB" or a bare number of bytes',
  units: new Map([
    ['B', 1],
    ['KB', 1e3],
    ['KiB', 2 ** 10],
    ['MB', 1e6],
    ['MiB', 2 ** 20],
    ['GB', 1e9],
    ['GiB', 2 ** 30],
    ['TB', 1e12],
    ['TiB', 2 ** 40],
  ]),
  words: new Map([
    ...spelt('B', 'byte', 'bytes'),
    ...spelt('KiB', 'k', 'kib'),
    ...spelt('KB', 'kb'),
    ...spelt('MiB', 'm', 'mib'),
    ...spelt('MB', 'mb'),
    ...spelt('GiB', 'g', 'gib'),
    ...spelt('GB', 'gb'),
    ...spelt('TiB', 't', 'tib'),
    ...spelt('TB', 'tb'),
  ]),
} as const;

/** For JSON Schemas. It takes parts of a byte, too. */
export const BYTE_SIZE_PATTERN = quantityPattern(BYTE_SIZE);

/** Bytes of `64KiB` (1,024s) or `64KB` (1,000s); a bare number is bytes. A part of a byte is an error. */
export function parseByteSize(input: string | number): Result<number> {
  const size = readQuantity(input, BYTE_SIZE);
  if (size.ok && !Number.isInteger(size.value)) return err(notWhole(input, size.value));
  return size;
}

const notWhole = (input: string | number, bytes: number) =>
  new RuntimeError('bad_size', `The size "${input}" is ${bytes} bytes, which is not a whole number.`, {
    hint: `Write it like ${BYTE_SIZE.example}.`,
  });

const SECOND = 1000;

const DURATION = {
  what: 'duration',
  code: 'bad_duration',
  bare: 's',
  example: '"250ms", "30s", "5m", "1h30m" or a bare number of seconds',
  units: new Map([
    ['ms', 1],
    ['s', SECOND],
    ['m', 60 * SECOND],
    ['h', 3_600 * SECOND],
    ['d', 86_400 * SECOND],
    ['w', 604_800 * SECOND],
  ]),
  words: new Map([
    ...spelt('ms', 'millisecond', 'milliseconds', 'millis', 'msec'),
    ...spelt('s', 'second', 'seconds', 'sec', 'secs'),
    ...spelt('m', 'minute', 'minutes', 'min', 'mins'),
    ...spelt('h', 'hour', 'hours', 'hr', 'hrs'),
    ...spelt('d', 'day', 'days'),
    ...spelt('w', 'week', 'weeks'),
  ]),
} as const;

/** For JSON Schemas. */
export const DURATION_PATTERN = quantityPattern(DURATION);

/** Milliseconds of `30s`, `1h30m`, `250ms`; a bare number is seconds. */
export function parseDuration(input: string | number): Result<number> {
  return readQuantity(input, DURATION);
}

const SECOND_MS = 1000;
const MINUTE = 60 * SECOND_MS;
const HOUR = 60 * MINUTE;

/** `812 ms`, `4.2 s`, `3 min 12 s`, `2 h 5 min`. */
export function spanText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(Math.max(0, ms))} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND_MS)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}
