import { compileGlob, type Glob } from './glob.ts';

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

interface Rule {
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
export function parseIgnoreRules(text: string): IgnoreRules | undefined {
  const rules: Rule[] = [];
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

function parseRule(line: string): Rule | undefined {
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
