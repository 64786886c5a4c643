import { err, ok, type Result, RuntimeError } from '../../../lib/errors.ts';
import { nearest } from '../../../lib/nearest.ts';
import { compileCheck } from '../../check-parameters.ts';
import type { Target } from '../../target.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    expression: {
      type: 'string',
      minLength: 1,
      description:
        'Arithmetic: + - * / % ^ and parentheses; abs ceil cos exp floor ln log log2 max min pow round sin sqrt tan; pi e tau.',
    },
  },
  required: ['expression'],
  additionalProperties: false,
} as const;

/** Evaluates arithmetic. The result is the number. */
export function calculator(): Target {
  return {
    kind: 'tool',
    name: 'calculator',
    description: 'Calculates an arithmetic expression. The result is a number.',
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    example: { input: { expression: '19 * 3' }, output: 57, answer: 'It is 57.' },
    check: compileCheck(PARAMETERS, 'tool "calculator"'),
    async run({ input }) {
      const value = evaluateArithmetic(String(input.expression));
      if (!value.ok) throw value.error;
      return value.value;
    },
  };
}

const MAX_LENGTH = 2_000;
const MAX_DEPTH = 64;

interface ArithmeticReader {
  readonly source: string;
  at: number;
  depth: number;
}

/** Evaluates numbers, `+ - * / % ^`, brackets, functions and constants. Nothing here can loop or reach anything. */
export function evaluateArithmetic(source: string): Result<number> {
  if (source.length > MAX_LENGTH) return err(wrong(source, 0, `has more than ${MAX_LENGTH} characters`));
  const reader: ArithmeticReader = { source, at: 0, depth: 0 };
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

/** Makes 0.1 + 0.2 come out as 0.3: doubles are exact to 15 digits. Whole numbers stay as they are. */
const rounded = (value: number) => (Number.isInteger(value) ? value : Number(value.toPrecision(15)));

function sum(reader: ArithmeticReader): number {
  let value = product(reader);
  for (;;) {
    if (accept(reader, '+')) value += product(reader);
    else if (accept(reader, '-')) value -= product(reader);
    else return value;
  }
}

function product(reader: ArithmeticReader): number {
  let value = signed(reader);
  for (;;) {
    if (accept(reader, '*')) value *= signed(reader);
    else if (accept(reader, '/')) value = divided(reader, value, signed(reader));
    else if (accept(reader, '%')) value = remainder(reader, value, signed(reader));
    else return value;
  }
}

function divided(reader: ArithmeticReader, value: number, by: number): number {
  if (by === 0) throw byZero(reader.source);
  return value / by;
}

function remainder(reader: ArithmeticReader, value: number, by: number): number {
  if (by === 0) throw byZero(reader.source);
  return value % by;
}

/** A sign binds weaker than a power: -2^2 is -4. */
function signed(reader: ArithmeticReader): number {
  if (++reader.depth > MAX_DEPTH) throw wrong(reader.source, reader.at, `is nested deeper than ${MAX_DEPTH}`);
  const value = accept(reader, '-') ? -signed(reader) : accept(reader, '+') ? signed(reader) : power(reader);
  reader.depth--;
  return value;
}

function power(reader: ArithmeticReader): number {
  const base = single(reader);
  return accept(reader, '**') || accept(reader, '^') ? base ** signed(reader) : base;
}

const NUMBER = /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z][A-Za-z0-9]*/y;

function single(reader: ArithmeticReader): number {
  if (accept(reader, '(')) {
    const value = sum(reader);
    if (!accept(reader, ')')) throw unexpected(reader, 'a closing bracket');
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

function called(reader: ArithmeticReader, name: string): number {
  if (!accept(reader, '(')) throw unexpected(reader, `an opening bracket after "${name}"`);
  const values = [sum(reader)];
  while (accept(reader, ',')) values.push(sum(reader));
  if (!accept(reader, ')')) throw unexpected(reader, 'a closing bracket');
  const [least, most] = ARITY[name] ?? [1, 1];
  if (values.length < least || values.length > most)
    throw wrong(
      reader.source,
      reader.at,
      `gives ${values.length} values to "${name}", which takes ${least === most ? least : `${least} to ${most}`}`,
    );
  return FUNCTIONS[name]?.(...values) ?? Number.NaN;
}

function skipSpace(reader: ArithmeticReader): void {
  while (/\s/.test(reader.source[reader.at] ?? '')) reader.at++;
}

function accept(reader: ArithmeticReader, symbol: string): boolean {
  skipSpace(reader);
  if (!reader.source.startsWith(symbol, reader.at)) return false;
  if (symbol === '*' && reader.source[reader.at + 1] === '*') return false;
  reader.at += symbol.length;
  return true;
}

function match(reader: ArithmeticReader, pattern: RegExp): string | undefined {
  skipSpace(reader);
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.source)?.[0];
  reader.at += found?.length ?? 0;
  return found;
}

const wrong = (source: string, at: number, why: string) =>
  new RuntimeError('bad_expression', `The expression ${shown(source)} ${why} (at character ${at + 1}).`, {
    hint: `Write it like (2 + 3) * sqrt(2) ^ 2. Functions: ${Object.keys(FUNCTIONS).join(', ')}.`,
  });

const unexpected = ({ source, at }: { readonly source: string; readonly at: number }, wanted?: string) =>
  wrong(
    source,
    at,
    wanted === undefined
      ? at >= source.length
        ? 'ends where a number should stand'
        : `has "${source[at]}" where it cannot be read`
      : `lacks ${wanted}`,
  );

const unknownName = (source: string, at: number, name: string) => {
  const near = nearest(name, NAMES);
  return new RuntimeError(
    'bad_expression',
    `The expression ${shown(source)} names "${name}", which is not known (at character ${at + 1}).`,
    {
      hint: near === undefined ? `Known: ${NAMES.join(', ')}.` : `Did you mean "${near}"?`,
    },
  );
};

const byZero = (source: string) =>
  new RuntimeError('bad_expression', `The expression ${shown(source)} divides by zero.`);

const notFinite = (source: string, value: number) =>
  new RuntimeError(
    'bad_expression',
    `The expression ${shown(source)} has no finite value: it is ${Number.isNaN(value) ? 'not defined' : 'too large'}.`,
  );

const shown = (source: string) => JSON.stringify(source.length > 100 ? `${source.slice(0, 100)}…` : source);

const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E, tau: 2 * Math.PI };

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  ln: Math.log,
  log: Math.log10,
  log2: Math.log2,
  max: Math.max,
  min: Math.min,
  pow: Math.pow,
  round,
  sign: Math.sign,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
};

/** How many values each function takes. One, if it is not listed. */
const ARITY: Readonly<Record<string, readonly [number, number]>> = {
  max: [1, 100],
  min: [1, 100],
  pow: [2, 2],
  round: [1, 2],
};

const NAMES = [...Object.keys(FUNCTIONS), ...Object.keys(CONSTANTS)];

/** Rounds by decimal digits, because 1.005 * 100 is less than 100.5. A number without such digits stays as it is. */
function round(value = Number.NaN, digits = 0): number {
  const moved = pointMoved(value, Math.trunc(digits));
  return Number.isFinite(moved) ? pointMoved(Math.round(moved), -Math.trunc(digits)) : value;
}

function pointMoved(value: number, by: number): number {
  const [written, exponent = '0'] = String(value).split('e');
  return Number(`${written}e${Number(exponent) + by}`);
}
