export const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E, tau: 2 * Math.PI };

export const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
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
  round: (value = Number.NaN, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits,
  sign: Math.sign,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
};

/** How many values each takes; one where it is not named here. */
export const ARITY: Readonly<Record<string, readonly [number, number]>> = {
  max: [1, 100],
  min: [1, 100],
  pow: [2, 2],
  round: [1, 2],
};

export const NAMES = [...Object.keys(FUNCTIONS), ...Object.keys(CONSTANTS)];
