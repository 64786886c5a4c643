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
  round,
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

/** By the digits as they are written: 1.005 * 100 is less than 100.5. A number that has no such digits stays as it is. */
function round(value = Number.NaN, digits = 0): number {
  const moved = pointMoved(value, Math.trunc(digits));
  return Number.isFinite(moved) ? pointMoved(Math.round(moved), -Math.trunc(digits)) : value;
}

function pointMoved(value: number, by: number): number {
  const [written, exponent = '0'] = String(value).split('e');
  return Number(`${written}e${Number(exponent) + by}`);
}
