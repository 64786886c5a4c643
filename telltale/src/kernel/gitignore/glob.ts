import { type CharSet, readCharSet } from './char-set.ts';

/** One character of a name, or any number of them. */
type Token = { readonly kind: 'char'; readonly char: string } | { readonly kind: 'any' | 'star' } | CharSet;

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
