/**
 * The reference reading of protocol.md, part two: section 3, second point. Strict JSON first, else one
 * tolerant pass that takes what the section lists and `{...}`, which a vector shows; nothing more.
 */
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { FENCE_WORD } from './reference-lexis.ts';

const NESTING_LIMIT = 500;

export interface ReadObject {
  readonly value: JsonObject;
  readonly repaired: boolean;
}

/** Undefined is `bad_json`. */
export function readObject(body: string): ReadObject | undefined {
  let value: Json;
  let repaired = false;
  try {
    value = JSON.parse(body) as Json;
  } catch {
    try {
      value = tolerant(body);
      repaired = true;
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }
  if (!isObject(value) || depthOf(value) > NESTING_LIMIT || holdsInfinity(value)) return undefined;
  return { value, repaired };
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const holdsInfinity = (value: Json): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(holdsInfinity)
    : typeof value === 'number' && !Number.isFinite(value);

function depthOf(value: Json): number {
  let depth = 0;
  let level: Json[] = [value];
  while (level.length > 0) {
    const containers = level.filter((item) => typeof item === 'object' && item !== null);
    if (containers.length === 0) return depth;
    depth += 1;
    level = containers.flatMap((item) => Object.values(item as object) as Json[]);
  }
  return depth;
}

/** What an escape stands for; of any other the backslash stays. */
const PLAIN: Readonly<Record<string, string>> = {
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

class Unreadable extends Error {}

function tolerant(body: string): Json {
  const text = withoutFence(body);
  let at = 0;
  let depth = 0;

  const unreadable = (): never => {
    throw new Unreadable();
  };
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const sticky = new RegExp(pattern.source, 'y');
    sticky.lastIndex = at;
    const match = sticky.exec(text);
    if (match) at += match[0].length;
    return match ?? undefined;
  };
  /** A comment that a line break should end and none does may have swallowed what follows. */
  const gap = () => {
    take(/(?:[ \t\r\n]|(?:\/\/|(?<=[ \t\r\n])#)[^\n]*\n|\/\*[\s\S]*?\*\/)*/);
    if (take(/\/\/|\/\*|(?<=[ \t\r\n])#/)) unreadable();
  };
  const ended = () => at >= text.length;

  function value(): Json {
    if (text[at] === '{') return nested(object);
    if (text[at] === '[') return nested(array);
    if (text[at] === '"' || text[at] === "'") return string();
    const literal = take(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/);
    return literal ? (JSON.parse(literal[0]) as Json) : unreadable();
  }

  function nested(read: () => Json): Json {
    at += 1;
    depth += 1;
    if (depth > NESTING_LIMIT) unreadable();
    const result = read();
    depth -= 1;
    return result;
  }

  function object(): Json {
    const entries: [string, Json][] = [];
    gap();
    if (take(/\.\.\./)) {
      gap();
      return take(/\}/) ? {} : unreadable();
    }
    while (!take(/\}/) && !ended()) {
      const key = text[at] === '"' || text[at] === "'" ? string() : unreadable();
      gap();
      if (!take(/:/)) unreadable();
      gap();
      entries.push([key, value()]);
      gap();
      if (!take(/,/) && !ended() && text[at] !== '}') unreadable();
      gap();
    }
    return Object.fromEntries(entries);
  }

  function array(): Json {
    const items: Json[] = [];
    gap();
    while (!take(/\]/) && !ended()) {
      items.push(value());
      gap();
      if (!take(/,/) && !ended() && text[at] !== ']') unreadable();
      gap();
    }
    return items;
  }

  function string(): string {
    const quoted = take(/"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'/) ?? unreadable();
    return (quoted[1] ?? quoted[2] ?? '').replace(
      /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g,
      (_, four?: string, two?: string, mark = '') => {
        const hex = four ?? two;
        return hex === undefined
          ? (PLAIN[mark] ?? `\\${mark}`)
          : String.fromCharCode(Number.parseInt(hex, 16));
      },
    );
  }

  gap();
  const result = value();
  gap();
  return ended() ? result : unreadable();
}

/**
 * A Markdown fence around the object: an opening run with at most one word, a closing run at least as long. The closing
 * run may be missing, as closing brackets may; any other one is not part of a fence, and unreadable where it stands.
 */
function withoutFence(body: string): string {
  const opening = new RegExp(`^[ \\t\\r\\n]*((\`|~)\\2{2,})[ \\t\\r]*${FENCE_WORD}?`).exec(body);
  if (!opening) return body;
  const inside = body.slice(opening[0].length);
  const [, run = '', mark = ''] = opening;
  const closing = new RegExp(`(?<!${mark})${mark}{${run.length},}[ \\t\\r\\n]*$`).exec(inside);
  return closing ? inside.slice(0, closing.index) : inside;
}
