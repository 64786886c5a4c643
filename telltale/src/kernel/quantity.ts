import { err, ok, type Result } from './result.ts';
import { RuntimeError } from './runtime-error.ts';

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
export const spelt = (unit: string, ...words: readonly string[]) =>
  words.map((word) => [word, unit] as const);

const PART = /^(\d+(?:\.\d+)?) ?([A-Za-z]+)/;

/**
 * Reads `30s`, `1h30m`, `64KiB` or a bare number into the base unit of `scale`. Bounded: a quantity has at most
 * one part for each unit, from large to small.
 */
export function readQuantity(input: string | number, scale: Scale): Result<number> {
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
export function quantityPattern({ units }: Pick<Scale, 'units'>): string {
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
