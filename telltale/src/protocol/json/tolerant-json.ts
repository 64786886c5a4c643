import { isSpace } from '../prose/chars.ts';

/** Bodies nested deeper than this are refused, so that nobody who walks a value later runs out of stack. */
export const MAX_DEPTH = 500;

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
export function readTolerantJson(raw: string): unknown {
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
