/**
 * The reference reading of protocol.md, part one: what a tag looks like (sections 1 and 2.1) and where a
 * body ends (section 3, first point). Pure functions over the whole input; nothing here streams.
 */

const TAG_LIMIT = 4096;

/** Section 1: the reserved names. `think` and `thinking` are other spellings of `thought`. */
const SPELLINGS = {
  thought: 'thought',
  think: 'thought',
  thinking: 'thought',
  action: 'action',
  metadata: 'metadata',
  response: 'response',
  if: 'if',
  else: 'else',
  foreach: 'foreach',
  parallel: 'parallel',
  result: 'result',
  context_feed: 'context_feed',
} as const;
type Spelling = keyof typeof SPELLINGS;
export type TagName = (typeof SPELLINGS)[Spelling];

const CONTROL: ReadonlySet<TagName> = new Set<TagName>(['if', 'else', 'foreach', 'parallel']);
export const isControl = (name: TagName): boolean => CONTROL.has(name);

/** The preamble: white space is space, tab, CR, LF. Regular expressions' `\s` is wider, so it is not used. */
const W = '[ \\t\\r\\n]';
const NAMES = Object.keys(SPELLINGS).join('|');
const ATTRIBUTE = '[A-Za-z_][A-Za-z0-9_.:-]*';

const matchAt = (pattern: string, input: string, at: number): RegExpExecArray | null => {
  const sticky = new RegExp(pattern, 'y');
  sticky.lastIndex = at;
  return sticky.exec(input);
};

/** The rest of a line that holds nothing but white space, up to a line feed or the end of the stream. */
export const onlySpaceFollows = (input: string, at: number): boolean =>
  matchAt('[ \\t\\r]*(?:\\n|$)', input, at) !== null;

export const isSpace = (text: string): boolean => /^[ \t\r\n]*$/.test(text);

/** 2.1: a closing tag holds nothing but its name and white space. */
export type Closing = { readonly is: 'tag' | 'too_long'; readonly name: TagName; readonly end: number };

export function readClosing(input: string, at: number): Closing | undefined {
  const window = input.slice(at, at + TAG_LIMIT);
  const whole = matchAt(`</(${NAMES})${W}*>`, window, 0);
  if (whole) return { is: 'tag', name: SPELLINGS[whole[1] as Spelling], end: at + whole[0].length };
  const open = matchAt(`</(${NAMES})${W}+$`, window, 0);
  if (open && window.length === TAG_LIMIT)
    return { is: 'too_long', name: SPELLINGS[open[1] as Spelling], end: at + TAG_LIMIT };
  return undefined;
}

export interface Attribute {
  readonly name: string;
  /** Undefined for a bare name. */
  readonly value: string | undefined;
}

export interface Attributes {
  readonly list: readonly Attribute[];
  /** False if anything in the tag is not of the form name=value. */
  readonly readable: boolean;
}

export type Opening =
  /** 2.5: the stream ended in it. */
  | { readonly is: 'unfinished'; readonly name: TagName; readonly certain: number; readonly end: number }
  /** 2.1: a `<` stands outside a quoted value. `end` is that `<`. */
  | { readonly is: 'broken'; readonly name: TagName; readonly certain: number; readonly end: number }
  | {
      readonly is: 'too_long';
      readonly name: TagName;
      readonly certain: number | undefined;
      readonly end: number;
    }
  | {
      readonly is: 'tag';
      readonly name: TagName;
      /** 2.2: from here on it is certain which tag this is. */
      readonly certain: number;
      readonly end: number;
      /** Written `<x/>`. */
      readonly empty: boolean;
      readonly attributes: Attributes;
    };

/** 2.1: an opening tag, or undefined where the characters are text from the start. */
export function readOpening(input: string, at: number): Opening | undefined {
  const window = input.slice(at, at + TAG_LIMIT);
  const head = matchAt(`<(${NAMES})(?=[ \\t\\r\\n/>])`, window, 0);
  if (!head) return undefined;
  const name = SPELLINGS[head[1] as Spelling];
  const afterName = head[0].length;

  // "`<if`, `<else`, `<foreach` and `<parallel` are tags from the character after the name on"; any other
  // "must go on with `>`, `/>` or `attribute=`", and a bare `final` in a response stands for `final="true"`.
  const goesOn = isControl(name)
    ? `[ \\t\\r\\n/>]`
    : name === 'response'
      ? `(?:${W}+final(?=[ \\t\\r\\n/>]))*(?:${W}*/?>|${W}+${ATTRIBUTE}${W}*=)`
      : `${W}*/?>|${W}+${ATTRIBUTE}${W}*=`;
  const start = matchAt(goesOn, window, afterName);
  if (!start) {
    const waiting =
      matchAt(
        `${name === 'response' ? `(?:${W}+final(?=${W}))*` : ''}(?:${W}*/?|${W}+${ATTRIBUTE}${W}*)$`,
        window,
        afterName,
      ) !== null;
    return waiting && window.length === TAG_LIMIT
      ? { is: 'too_long', name, certain: undefined, end: at + TAG_LIMIT }
      : undefined;
  }
  const certain = at + afterName + start[0].length;

  const read = readAttributes(window, afterName);
  if (read.is === 'tag') return { ...read, name, certain, end: at + read.end };
  if (read.is === 'broken') return { is: 'broken', name, certain, end: at + read.end };
  return window.length === TAG_LIMIT
    ? { is: 'too_long', name, certain, end: at + TAG_LIMIT }
    : { is: 'unfinished', name, certain, end: input.length };
}

type ReadAttributes =
  | { readonly is: 'tag'; readonly end: number; readonly empty: boolean; readonly attributes: Attributes }
  | { readonly is: 'broken'; readonly end: number }
  | { readonly is: 'endless' };

/**
 * Section 1, attributes: `a="v"`, `a='v'`, `a=v`, white space round `=`. What cannot be read so is passed
 * over, a character at a time, and noted; a quote opens a value only after `=`.
 */
function readAttributes(text: string, from: number): ReadAttributes {
  const list: Attribute[] = [];
  let readable = true;
  let at = from;
  let separated = true;
  while (at < text.length) {
    const space = matchAt(`${W}+`, text, at);
    if (space) {
      at += space[0].length;
      separated = true;
      continue;
    }
    const end = matchAt('/?>', text, at);
    if (end) {
      const attributes = { list, readable };
      return { is: 'tag', end: at + end[0].length, empty: end[0] === '/>', attributes };
    }
    if (text[at] === '<') return { is: 'broken', end: at };
    if (!separated) readable = false;

    const assigned = matchAt(`(${ATTRIBUTE})?${W}*=${W}*`, text, at);
    if (assigned) {
      const name = assigned[1];
      if (name === undefined) readable = false;
      at += assigned[0].length;
      if (name === 'depends_on' && text[at] === '[') {
        // "From `[` to the first `]` outside double quotes; a `<`, `>` or line break before that is `bad_attribute`."
        const opened = at;
        let quotes = false;
        for (at += 1; at < text.length && !'<>\n'.includes(text[at]!); at++) {
          if (text[at] === '"') quotes = !quotes;
          if (text[at] === ']' && !quotes) break;
        }
        const stop = text[at++];
        if (stop === undefined) return { is: 'endless' };
        if (stop === ']') list.push({ name, value: decoded(text.slice(opened, at)) });
        else readable = false;
        if (stop === '<') return { is: 'broken', end: at - 1 };
        if (stop === '>') return { is: 'tag', end: at, empty: false, attributes: { list, readable } };
        separated = stop === '\n';
        continue;
      }
      const quoted = matchAt(`"([^"]*)"|'([^']*)'`, text, at);
      if (quoted) {
        at += quoted[0].length;
        if (name !== undefined) list.push({ name, value: decoded(quoted[1] ?? quoted[2] ?? '') });
      } else if (text[at] === '"' || text[at] === "'") {
        return { is: 'endless' };
      } else {
        const value = matchAt('(?:(?!/>)[^ \\t\\r\\n><])*', text, at)?.[0] ?? '';
        at += value.length;
        if (value === '') readable = false;
        if (name !== undefined) list.push({ name, value: decoded(value) });
      }
      separated = false;
      continue;
    }
    readable = false;
    const bare = matchAt(ATTRIBUTE, text, at);
    if (bare) list.push({ name: bare[0], value: undefined });
    at += bare ? bare[0].length : 1;
    separated = false;
  }
  return { is: 'endless' };
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const decoded = (value: string): string =>
  value.replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? '');

/** 2.1: `{` follows after white space and at most the opening of a fence with one word. */
export const bodyFollows = (input: string, at: number): boolean =>
  matchAt(`${W}*(?:(?:\`{3,}|~{3,})[ \\t]*${FENCE_WORD}?${W}*)?\\{`, input, at) !== null;
export const FENCE_WORD = '(?:[^ \\t\\r\\n{`~<]+)';

export interface Body {
  /** `closed` by its own tag, `broken` by another tag or a missing quote, or the stream ended. */
  readonly is: 'closed' | 'broken' | 'truncated';
  readonly text: string;
  /** Where the parser goes on. */
  readonly next: number;
}

/** Section 3, first point. */
export function readBody(input: string, from: number, name: TagName): Body {
  let inString = false;
  let escaped = false;
  for (let at = from; at < input.length; at++) {
    const text = input.slice(from, at);
    const char = input[at];
    if (char === '<') {
      const closing = readClosing(input, at);
      if (closing?.is === 'tag' && closing.name === name) {
        if (!inString) return { is: 'closed', text, next: closing.end };
        if (onlySpaceFollows(input, closing.end)) return { is: 'broken', text, next: closing.end };
      } else if (!inString && isReservedTag(input, at)) {
        return { is: 'broken', text, next: at };
      }
    }
    if (!inString) {
      inString = char === '"';
    } else if (escaped) {
      escaped = false;
    } else if (char === '\\') {
      escaped = true;
    } else if (char === '"') {
      inString = false;
    }
  }
  return { is: 'truncated', text: input.slice(from), next: input.length };
}

/** "Any other reserved tag there ends the body": from where it is certain which tag it is. */
export const isReservedTag = (input: string, at: number): boolean =>
  readClosing(input, at)?.is === 'tag' || readOpening(input, at)?.certain !== undefined;
