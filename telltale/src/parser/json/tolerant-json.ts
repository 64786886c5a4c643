import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { isSpace } from '../tags/names.ts';

export interface ParsedValue {
  readonly value: Json;
  readonly repaired: boolean;
}

/** A JSON value of any kind; strict first, then as models get it slightly wrong. */
export function parseValue(text: string): ParsedValue | TolerantJsonUnreadable {
  // In an object, since that is what bounds its depth, and what the tolerant reading reads.
  const wrapped = `{"value":${text}}`;
  const strict = strictJson(wrapped);
  const read = readObject(wrapped, strict);
  if (typeof read === 'string') return read;
  const { value } = read;
  return value === undefined ? 'unreadable' : { value, repaired: strict === undefined };
}

/** What JSON.parse makes of a text; undefined where it throws. */
export function strictJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as a fault, or repaired
  }
}

/** Why a text gives no value: it is no JSON that can be read, or holds a number that no double can. */
export type TolerantJsonUnreadable = 'unreadable' | 'not_finite';

/** What to write in place of a number that is not finite. */
export const LARGE_NUMBER = 'Write one below 1.8e308, or its digits as a string.';

/**
 * The object a body holds: `strict`, what JSON.parse made of it, else the tolerant reading. Unreadable where neither
 * gives an object, and where it is nested deeper than `MAX_DEPTH`: who walks the value later may not take any depth.
 */
export function readObject(text: string, strict: unknown): JsonObject | TolerantJsonUnreadable {
  const value = strict === undefined ? readTolerantJson(text) : strict;
  if (!isJsonObject(value)) return 'unreadable';
  if (isPlain(value, MAX_DEPTH)) return value;
  // The tolerant reading bounds the depth itself.
  return strict !== undefined && isDeeperThan(value, MAX_DEPTH) ? 'unreadable' : 'not_finite';
}

/**
 * Whether every number in it is finite (JSON.parse takes 1e999 for Infinity), and nothing in it is nested deeper than that.
 * One walk for both: to count the brackets in the text, so that most values need none for the depth, is a search for
 * each of them. One function, since two that call each other are compiled into each other, level by level.
 */
function isPlain(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isPlain(value[at], levels - 1)) return false;
    return true;
  }
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], levels - 1)) return false;
  return true;
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const child of Object.values(value)) {
    if (typeof child === 'object' && child !== null && isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}

/** Bodies nested deeper than this are refused, so that nobody who walks a value later runs out of stack. */
const MAX_DEPTH = 500;

const UNREADABLE = Symbol('unreadable');
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
export const HEX = /^[0-9a-fA-F]+$/;
const FENCE_OPEN = /^[ \t\r\n]*(`{3,}|~{3,})[ \t\r]*[^ \t\r\n{`~<]*[ \t\r\n]*/;
/** What an escape stands for. In any other the backslash stays. */
export const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

type Container = { readonly object: Record<string, unknown>; key: string } | { readonly list: unknown[] };

/**
 * Reads JSON as models get it slightly wrong: comments, invalid escapes, trailing commas, single quotes, raw line breaks
 * in strings, missing closing brackets at the end, a Markdown fence around it, `{...}` for what was left out. Anything
 * else is unreadable and gives undefined. One pass, no recursion, no going back: linear whatever the input.
 */
function readTolerantJson(raw: string): unknown {
  const fence = FENCE_OPEN.exec(raw);
  const text = fence === null ? raw : withoutClosingFence(raw.slice(fence[0].length), fence[1] ?? '');
  const value = createReader(text, 0).readWhole();
  return value === UNREADABLE ? undefined : value;
}

/**
 * Reads the value that begins at `at`, whatever follows it. `end` is how far the reading came, also where nothing could
 * be read and `value` is undefined.
 */
export function readJsonAt(text: string, at: number): { readonly value: unknown; readonly end: number } {
  const reader = createReader(text, at);
  const value = text[at] === '{' || text[at] === '[' ? reader.read() : reader.readScalar();
  return { value: value === UNREADABLE ? undefined : value, end: reader.position() };
}

/** How much is quoted of what could be read. */
const QUOTED = 40;

/** For the model: what stands before the first place where its JSON cannot be read. Empty where that is at an end. */
export function brokenBehind(text: string): string {
  const from = text.indexOf('{');
  if (from < 0) return '';
  const { end } = readJsonAt(text, from);
  const read = text.slice(Math.max(from, end - QUOTED), end).replace(/\s+/g, ' ');
  return end >= text.trimEnd().length ? '' : ` The first mistake comes right after: ${read}`;
}

/**
 * A closing fence may be missing, like brackets at the end; if it is there it is as long as the opening one. From the
 * end backwards: a pattern would be tried again at each mark of a long run that does not end the text.
 */
function withoutClosingFence(text: string, opening: string): string {
  const mark = opening.charCodeAt(0);
  let to = text.length;
  while (to > 0 && isSpace(text.charCodeAt(to - 1))) to--;
  let from = to;
  while (from > 0 && text.charCodeAt(from - 1) === mark) from--;
  return to - from >= opening.length ? text.slice(0, from) : text;
}

function createReader(text: string, start: number) {
  let at = start;

  /** Skips white space and comments; false where a comment never ends: it may have swallowed a part of the value. */
  const skip = (): boolean => {
    for (;;) {
      const c = text[at];
      if (c === ' ' || c === '\n' || c === '\r' || c === '\t') at++;
      else if ((c === '/' && text[at + 1] === '/') || (c === '#' && isSpace(text.charCodeAt(at - 1)))) {
        if (!skipTo('\n', at)) return false;
      } else if (c === '/' && text[at + 1] === '*') {
        if (!skipTo('*/', at + 2)) return false;
      } else return true;
    }
  };

  const skipTo = (mark: string, from: number): boolean => {
    const found = text.indexOf(mark, from);
    at = found < 0 ? text.length : found + mark.length;
    return found >= 0;
  };

  const readString = (quote: string): string | typeof UNREADABLE => {
    let value = '';
    let from = ++at;
    for (; at < text.length; at++) {
      const c = text[at];
      if (c === quote) {
        value += text.slice(from, at++);
        return value;
      }
      if (c !== '\\') continue;
      value += text.slice(from, at);
      const mark = text[++at] ?? '';
      const digits = mark === 'u' ? 4 : mark === 'x' ? 2 : 0;
      const hex = text.slice(at + 1, at + 1 + digits);
      if (digits > 0 && hex.length === digits && HEX.test(hex)) {
        value += String.fromCharCode(Number.parseInt(hex, 16));
        at += digits;
      } else value += ESCAPES[mark] ?? `\\${mark}`;
      from = at + 1;
    }
    return UNREADABLE;
  };

  const readScalar = (): unknown => {
    const c = text[at] ?? '';
    if (c === '"' || c === "'") return readString(c);
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return value;
      }
    }
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(text);
    if (number === null) return UNREADABLE;
    at += number[0].length;
    return Number(number[0]);
  };

  /** Reads `"key":`; UNREADABLE where none stands. */
  const readKey = (): string | typeof UNREADABLE => {
    const c = text[at] ?? '';
    if (c !== '"' && c !== "'") return UNREADABLE;
    const key = readString(c);
    if (key === UNREADABLE || !skip() || text[at] !== ':') return UNREADABLE;
    at++;
    return skip() ? key : UNREADABLE;
  };

  /** Reads what begins with the bracket at `at`. */
  const read = (): unknown => {
    const open: Container[] = [];
    let root: unknown;
    const add = (value: unknown) => {
      const top = open.at(-1);
      if (top === undefined) root = value;
      else if ('list' in top) top.list.push(value);
      else setOwn(top.object, top.key, value);
    };
    const enter = (): boolean => {
      if (open.length >= MAX_DEPTH) return false;
      const container: Container = text[at] === '{' ? { object: {}, key: '' } : { list: [] };
      add('list' in container ? container.list : container.object);
      open.push(container);
      at++;
      return true;
    };
    enter();
    const isElided = (top: Container) =>
      text.startsWith('...', at) && 'object' in top && Object.keys(top.object).length === 0;
    // Whether a member may stand here: after an opening bracket or a comma, not after a value.
    let expects = true;
    while (open.length > 0) {
      if (!skip()) return UNREADABLE;
      if (at >= text.length) return root;
      const top = open.at(-1) as Container;
      const c = text[at] ?? '';
      if (c === ('list' in top ? ']' : '}')) {
        at++;
        open.pop();
        expects = false;
      } else if (c === ',' && !expects) {
        at++;
        expects = true;
      } else if (!expects) return UNREADABLE;
      else if (isElided(top)) {
        at += 3;
        if (!skip() || text[at] !== '}') return UNREADABLE;
        expects = false;
      } else {
        if (!('list' in top)) {
          const key = readKey();
          if (key === UNREADABLE) return UNREADABLE;
          top.key = key;
        }
        if (text[at] === '{' || text[at] === '[') {
          if (!enter()) return UNREADABLE;
        } else {
          const value = readScalar();
          if (value === UNREADABLE) return UNREADABLE;
          add(value);
          expects = false;
        }
      }
    }
    return root;
  };

  const readWhole = (): unknown => {
    if (!skip() || text[at] !== '{') return UNREADABLE;
    const root = read();
    return skip() && at >= text.length ? root : UNREADABLE;
  };

  return { read, readScalar, readWhole, position: () => at };
}

/** As JSON.parse does: `__proto__` is a key like any other. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else object[key] = value;
}
