/** One character of a name, or any number of them. */
type Token = { readonly kind: 'char'; readonly char: string } | { readonly kind: 'any' | 'star' } | CharSet;

interface CharSet {
  readonly kind: 'set';
  readonly negated: boolean;
  readonly has: (char: string) => boolean;
}

/** `**` between slashes stands for folders, however many. */
type Segment = 'globstar' | readonly Token[];

export type Glob = (path: string) => boolean;

/**
 * A pattern of a .gitignore as git's wildmatch reads it, over a whole path. In time proportional to pattern × path
 * whatever is written: a regular expression of many stars would not be. Undefined where nothing can ever match it.
 */
export function compileGlob(pattern: string): Glob | undefined {
  const segments = segmentsOf(pattern);
  if (segments === undefined) return undefined;
  const [only] = segments;
  if (segments.length === 1 && only !== undefined && only !== 'globstar') {
    const test = segmentTest(only);
    return (path) => test(path) && !path.includes('/');
  }
  const tests = segments.map((segment) => (segment === 'globstar' ? segment : segmentTest(segment)));
  return (path) => matchSegments(tests, path.split('/'));
}

function matchSegments(tests: readonly ('globstar' | Glob)[], parts: readonly string[]): boolean {
  let at = 0;
  let part = 0;
  let star = -1;
  let starPart = 0;
  while (part < parts.length) {
    const test = tests[at];
    if (test === 'globstar') {
      // At the end it stands for all that is inside, which is one name at least.
      if (at === tests.length - 1) return true;
      star = at++;
      starPart = part;
    } else if (test?.(parts[part] ?? '')) {
      at++;
      part++;
    } else if (star >= 0) {
      at = star + 1;
      part = ++starPart;
    } else return false;
  }
  return at === tests.length;
}

/** Most patterns are a name, or an ending: these two need no machine. */
function segmentTest(tokens: readonly Token[]): Glob {
  const literal = textOf(tokens);
  if (literal !== undefined) return (name) => name === literal;
  const ending = tokens[0]?.kind === 'star' ? textOf(tokens.slice(1)) : undefined;
  if (ending !== undefined) return (name) => name.endsWith(ending);
  return (name) => matchTokens(tokens, [...name]);
}

function textOf(tokens: readonly Token[]): string | undefined {
  let text = '';
  for (const token of tokens) {
    if (token.kind !== 'char') return undefined;
    text += token.char;
  }
  return text;
}

function matchTokens(tokens: readonly Token[], chars: readonly string[]): boolean {
  let at = 0;
  let char = 0;
  let star = -1;
  let starChar = 0;
  while (char < chars.length) {
    const token = tokens[at];
    if (token?.kind === 'star') {
      star = at++;
      starChar = char;
    } else if (token !== undefined && matchOne(token, chars[char] ?? '')) {
      at++;
      char++;
    } else if (star >= 0) {
      at = star + 1;
      char = ++starChar;
    } else return false;
  }
  while (tokens[at]?.kind === 'star') at++;
  return at === tokens.length;
}

function matchOne(token: Token, char: string): boolean {
  switch (token.kind) {
    case 'char':
      return token.char === char;
    case 'set':
      return token.has(char) !== token.negated;
    case 'any':
    case 'star':
      return true;
  }
}

function segmentsOf(pattern: string): readonly Segment[] | undefined {
  const chars = [...pattern];
  const segments: Segment[] = [];
  let tokens: Token[] = [];
  let stars = 0;
  const close = () => {
    // Two stars or more, and nothing else between the slashes.
    segments.push(stars >= 2 && tokens.length === 1 ? 'globstar' : tokens);
    tokens = [];
    stars = 0;
  };
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? '';
    if (char === '/') close();
    else if (char === '*') {
      stars++;
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (char === '?') tokens.push({ kind: 'any' });
    else if (char === '[') {
      const read = readSet(chars, at + 1);
      if (read === undefined) return undefined;
      tokens.push(read.set);
      at = read.end;
    } else if (char === '\\') {
      const next = chars[++at];
      if (next === undefined) return undefined;
      if (next === '/') close();
      else tokens.push({ kind: 'char', char: next });
    } else tokens.push({ kind: 'char', char });
  }
  close();
  return segments;
}

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
function readSet(
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

const LONGEST_CLASS = 16;
