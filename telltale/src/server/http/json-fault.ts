/** One token of JSON, or nothing; strings may not hold bare control characters. */
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
  /[\t\n\r ]*(?:([[\]{},:])|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w))/y;

type Wants = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'nothing more';

/**
 * Where a text that is no JSON stops being some: the runtime's own message has a place only now and then. Runs after a
 * failure, so it costs nobody else anything.
 */
export function jsonFault(text: string): {
  readonly line: number;
  readonly column: number;
  readonly wanted: string;
} {
  const open: ('[' | '{')[] = [];
  let wants: Wants = 'value';
  let at = 0;
  const afterValue = (): Wants => {
    const inside = open.at(-1);
    return inside === undefined ? 'nothing more' : inside === '[' ? ', or ]' : ', or }';
  };
  const step = (mark: string | undefined, isString: boolean): Wants | undefined => {
    if (mark === undefined) {
      if (wants === 'key' || wants === 'key or }') return isString ? ':' : undefined;
      return wants === 'value' || wants === 'value or ]' ? afterValue() : undefined;
    }
    if ((mark === '[' || mark === '{') && (wants === 'value' || wants === 'value or ]')) {
      open.push(mark);
      return mark === '[' ? 'value or ]' : 'key or }';
    }
    if (mark === ':') return wants === ':' ? 'value' : undefined;
    if (mark === ',') return wants === ', or ]' ? 'value' : wants === ', or }' ? 'key' : undefined;
    if ((mark === ']' || mark === '}') && wants.endsWith(`or ${mark}`)) {
      open.pop();
      return afterValue();
    }
    return undefined;
  };
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const next = found === null ? undefined : step(found[1], found[0].trimStart().startsWith('"'));
    if (found === null || next === undefined) break;
    wants = next;
    at = TOKEN.lastIndex;
  }
  const from = at + (/^[\t\n\r ]*/.exec(text.slice(at))?.[0].length ?? 0);
  const before = text.slice(0, from).split('\n');
  return {
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    wanted: wants.replace(/[[\]{},:]/g, '"$&"'),
  };
}

const QUOTE = 34;
const BACKSLASH = 92;

/** Whether lists and objects stand in each other more than `limit` times; on the bytes, before anything is built of them. */
export function isTooDeep(json: Uint8Array, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
    } else if (byte === 91 || byte === 123) {
      if (++depth > limit) return true;
    } else if (byte === 93 || byte === 125) depth--;
  }
  return false;
}
