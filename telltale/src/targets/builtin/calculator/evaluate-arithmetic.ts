import { err, ok, type Result } from '../../../kernel/result.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { byZero, notFinite, unexpected, unknownName, wrong } from './expression-errors.ts';
import { ARITY, CONSTANTS, FUNCTIONS } from './known-names.ts';

const MAX_LENGTH = 2_000;
const MAX_DEPTH = 64;

interface Reader {
  readonly source: string;
  at: number;
  depth: number;
}

/** Numbers, `+ - * / % ^`, brackets, functions and constants: nothing that could loop or reach anything. */
export function evaluateArithmetic(source: string): Result<number> {
  if (source.length > MAX_LENGTH) return err(wrong(source, 0, `has more than ${MAX_LENGTH} characters`));
  const reader: Reader = { source, at: 0, depth: 0 };
  try {
    const value = sum(reader);
    skipSpace(reader);
    if (reader.at < source.length) throw unexpected(reader);
    return Number.isFinite(value) ? ok(rounded(value)) : err(notFinite(source, value));
  } catch (thrown) {
    if (thrown instanceof RuntimeError) return err(thrown);
    throw thrown;
  }
}

/** 0.1 + 0.2 is 0.3 to whoever asks: doubles hold 15 digits for certain. Whole numbers stay as they are. */
const rounded = (value: number) => (Number.isInteger(value) ? value : Number(value.toPrecision(15)));

function sum(reader: Reader): number {
  let value = product(reader);
  for (;;) {
    if (take(reader, '+')) value += product(reader);
    else if (take(reader, '-')) value -= product(reader);
    else return value;
  }
}

function product(reader: Reader): number {
  let value = signed(reader);
  for (;;) {
    if (take(reader, '*')) value *= signed(reader);
    else if (take(reader, '/')) value = divided(reader, value, signed(reader));
    else if (take(reader, '%')) value = remainder(reader, value, signed(reader));
    else return value;
  }
}

function divided(reader: Reader, value: number, by: number): number {
  if (by === 0) throw byZero(reader.source);
  return value / by;
}

function remainder(reader: Reader, value: number, by: number): number {
  if (by === 0) throw byZero(reader.source);
  return value % by;
}

/** A sign binds less than a power: -2^2 is -4. */
function signed(reader: Reader): number {
  if (++reader.depth > MAX_DEPTH) throw wrong(reader.source, reader.at, `is nested deeper than ${MAX_DEPTH}`);
  const value = take(reader, '-') ? -signed(reader) : take(reader, '+') ? signed(reader) : power(reader);
  reader.depth--;
  return value;
}

function power(reader: Reader): number {
  const base = single(reader);
  return take(reader, '**') || take(reader, '^') ? base ** signed(reader) : base;
}

const NUMBER = /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z][A-Za-z0-9]*/y;

function single(reader: Reader): number {
  if (take(reader, '(')) {
    const value = sum(reader);
    if (!take(reader, ')')) throw unexpected(reader, 'a closing bracket');
    return value;
  }
  const number = match(reader, NUMBER);
  if (number !== undefined) return Number(number.replaceAll('_', ''));
  const start = reader.at;
  const name = match(reader, NAME);
  if (name === undefined) throw unexpected(reader);
  if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name] ?? Number.NaN;
  if (!Object.hasOwn(FUNCTIONS, name)) throw unknownName(reader.source, start, name);
  return called(reader, name);
}

function called(reader: Reader, name: string): number {
  if (!take(reader, '(')) throw unexpected(reader, `an opening bracket after "${name}"`);
  const values = [sum(reader)];
  while (take(reader, ',')) values.push(sum(reader));
  if (!take(reader, ')')) throw unexpected(reader, 'a closing bracket');
  const [least, most] = ARITY[name] ?? [1, 1];
  if (values.length < least || values.length > most)
    throw wrong(
      reader.source,
      reader.at,
      `gives ${values.length} values to "${name}", which takes ${least === most ? least : `${least} to ${most}`}`,
    );
  return FUNCTIONS[name]?.(...values) ?? Number.NaN;
}

function skipSpace(reader: Reader): void {
  while (/\s/.test(reader.source[reader.at] ?? '')) reader.at++;
}

function take(reader: Reader, symbol: string): boolean {
  skipSpace(reader);
  if (!reader.source.startsWith(symbol, reader.at)) return false;
  if (symbol === '*' && reader.source[reader.at + 1] === '*') return false;
  reader.at += symbol.length;
  return true;
}

function match(reader: Reader, pattern: RegExp): string | undefined {
  skipSpace(reader);
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.source)?.[0];
  reader.at += found?.length ?? 0;
  return found;
}
