/** `[a-z]` of a pattern: the characters that may stand there, or with `negated` those that may not. */
export interface CharSet {
  readonly kind: 'set';
  readonly negated: boolean;
  readonly has: (char: string) => boolean;
}

const LONGEST_CLASS = 16;
const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /^[A-Za-z0-9]$/,
  alpha: /^[A-Za-z]$/,
  blank: /^[ \t]$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what the class is.
  cntrl: /^[\x00-\x1f\x7f]$/,
  digit: /^[0-9]$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[ \t\n\v\f\r]$/,
  upper: /^[A-Z]$/,
  xdigit: /^[0-9A-Fa-f]$/,
};

/** `[a-z!]` from behind its bracket on; `end` is where its closing bracket stands. Undefined where that is missing. */
export function readCharSet(
  chars: readonly string[],
  start: number,
): { readonly set: CharSet; readonly end: number } | undefined {
  let at = start;
  const negated = chars[at] === '!' || chars[at] === '^';
  if (negated) at++;
  const tests: ((char: string) => boolean)[] = [];
  let low: string | undefined;
  for (let first = true; ; first = false, at++) {
    let char = chars[at];
    if (char === undefined) return undefined;
    if (char === ']' && !first) break;
    if (char === '[' && chars[at + 1] === ':') {
      const name = chars.slice(at + 2, at + 2 + LONGEST_CLASS).join('');
      const known = /^([^\]]*):\]/.exec(name)?.[1];
      if (known !== undefined) {
        const test = Object.hasOwn(CLASSES, known) ? CLASSES[known] : undefined;
        if (test === undefined) return undefined;
        tests.push((each) => test.test(each));
        at += known.length + 3;
        low = undefined;
        continue;
      }
    }
    const next = chars[at + 1];
    if (char === '-' && low !== undefined && next !== undefined && next !== ']') {
      let high = next;
      at++;
      if (high === '\\') {
        high = chars[++at] ?? '';
        if (high === '') return undefined;
      }
      const from = low;
      tests.push((each) => each >= from && each <= high);
      low = undefined;
      continue;
    }
    if (char === '\\') {
      char = chars[++at];
      if (char === undefined) return undefined;
    }
    const wanted = char;
    tests.push((each) => each === wanted);
    low = wanted;
  }
  return { set: { kind: 'set', negated, has: (char) => tests.some((test) => test(char)) }, end: at };
}
