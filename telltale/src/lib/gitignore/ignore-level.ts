/** What is ignored in a folder of a walk and below it: its own rules, then those of the folders above. */
export interface IgnoreLevel {
  readonly rules: IgnoreRules;
  /** From a path of the walk to one of the rules' folder: so many characters less, or these more. */
  readonly strip: number;
  readonly prefix: string;
  readonly above: IgnoreLevel | undefined;
  /** Lines that one path is held against, those of the folders above included. */
  readonly cost: number;
}

/**
 * Where a file of rules stands: in a folder of the walk (`''`, or `a/b`), or in one above its root, from which `toRoot`
 * leads to it (`a/b/`).
 */
export type RulesPlace = { readonly folder: string } | { readonly toRoot: string };

/** `above`, and over it the rules in `text`; `above` itself where they say nothing. */
export function withRules(
  above: IgnoreLevel | undefined,
  text: string,
  place: RulesPlace,
): IgnoreLevel | undefined {
  const rules = parseIgnoreRules(text);
  if (rules === undefined) return above;
  const cost = rules.count + (above?.cost ?? 0);
  if ('toRoot' in place) return { rules, strip: 0, prefix: place.toRoot, above, cost };
  return { rules, strip: place.folder === '' ? 0 : place.folder.length + 1, prefix: '', above, cost };
}

/**
 * Whether git would leave it out, as long as it has left out none of the folders it is in: those are not to be entered.
 * `path` is below the root of the walk, `name` its last part.
 */
export function isIgnored(
  level: IgnoreLevel | undefined,
  path: string,
  name: string,
  isFolder: boolean,
): boolean {
  for (let at = level; at !== undefined; at = at.above) {
    const { rules, strip, prefix } = at;
    const verdict = rules.verdict(strip === 0 ? prefix + path : path.slice(strip), name, isFolder);
    if (verdict !== undefined) return verdict === 'ignored';
  }
  return false;
}

/** The lines of one .gitignore. */
export interface IgnoreRules {
  /** How many lines count: each is tried. */
  readonly count: number;
  /**
   * What the last line that fits says; undefined where none does. `path` is relative to the file's folder, `name` its
   * last part.
   */
  verdict(path: string, name: string, isFolder: boolean): 'ignored' | 'kept' | undefined;
}

interface IgnoreLevelRule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  /** A line with a slash in it is about a path, one without about a name wherever it is. */
  readonly byPath: boolean;
  readonly fits: Glob;
}

/** Lines that count; a file of more is no list that a person keeps. */
const MAX_RULES = 10_000;
const MAX_PATTERN_CHARS = 4_096;

/** Undefined where the text says nothing. */
function parseIgnoreRules(text: string): IgnoreRules | undefined {
  const rules: IgnoreLevelRule[] = [];
  for (const line of text.replace(/^\uFEFF/, '').split('\n')) {
    const rule = parseRule(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (rule !== undefined) rules.push(rule);
    if (rules.length >= MAX_RULES) break;
  }
  if (rules.length === 0) return undefined;
  rules.reverse();
  return {
    count: rules.length,
    verdict(path, name, isFolder) {
      const [pathBytes, nameBytes] = [asBytes(path), asBytes(name)];
      for (const { negated, foldersOnly, byPath, fits } of rules)
        if ((isFolder || !foldersOnly) && fits(byPath ? pathBytes : nameBytes))
          return negated ? 'kept' : 'ignored';
      return undefined;
    },
  };
}

function parseRule(line: string): IgnoreLevelRule | undefined {
  if (line.startsWith('#') || line.length > MAX_PATTERN_CHARS) return undefined;
  let pattern = withoutTrailingSpaces(line);
  const negated = pattern.startsWith('!');
  if (negated) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith('/');
  if (foldersOnly) pattern = pattern.slice(0, -1);
  const byPath = pattern.includes('/');
  if (pattern.startsWith('/')) pattern = pattern.slice(1);
  if (pattern === '') return undefined;
  const fits = byPath ? compilePath(asBytes(pattern)) : compileGlob(asBytes(pattern));
  // A name has no slash that two stars could stand for: `**` alone is any name.
  return fits === undefined ? undefined : { negated, foldersOnly, byPath, fits };
}

const STARS_BEHIND_TEXT = /^([^*?[\\]*[^*?[\\/])(\*{2,}(?:\\?\/.*)?)$/;

/** Git compares the text before the first wildcard by itself, and takes what follows for a pattern of its own. */
function compilePath(pattern: string): Glob | undefined {
  const [, text, rest] = STARS_BEHIND_TEXT.exec(pattern) ?? [];
  if (text === undefined || rest === undefined) return compileGlob(pattern);
  const fits = compileGlob(rest);
  return fits && ((path) => path.startsWith(text) && fits(path.slice(text.length)));
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

const encoder = new TextEncoder();

/** A character for each byte: to git a question mark is a byte. */
function asBytes(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  let bytes = '';
  for (const byte of encoder.encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** Spaces at the end do not count, but for one behind a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === ' ') continue;
    if (line[at] === '\\') at++;
    end = Math.min(at + 1, line.length);
  }
  return line.slice(0, end);
}

/** One character of a name, or any number of them. */
type Token = { readonly kind: 'char'; readonly char: string } | { readonly kind: 'any' | 'star' } | CharSet;

/** `**` between slashes stands for folders, however many. */
type Segment = 'globstar' | readonly Token[];

export type Glob = (path: string) => boolean;

/**
 * A pattern of a .gitignore as git's wildmatch reads it, over a whole path. In time proportional to pattern × path
 * whatever is written: a regular expression of many stars would not be. Undefined where nothing can ever match it.
 */
function compileGlob(pattern: string): Glob | undefined {
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
      const read = readCharSet(chars, at + 1);
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
function readCharSet(
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
