import type { Json, JsonObject } from '../lib/json.ts';
import { defined, plainText } from './values.ts';

/** A script that fails whenever it runs, and says what has to be written in its place. */
export const failingScript = (message: string): string =>
  plainText(`throw new Error(${JSON.stringify(message)});`);

/** A tool in place of Python code: it has the parameters of the function, and its calls fail. */
export function toolStub(
  name: string,
  description: string | undefined,
  parameters: JsonObject | undefined,
  place: string,
): JsonObject {
  return defined({
    kind: 'Tool',
    name,
    description: description === undefined ? undefined : plainText(description.trim()),
    parameters: parameters ?? { type: 'object' },
    implementation: { script: failingScript(`The tool ${name} is not ported yet: ${place}.`) },
  });
}

const TYPES: readonly (readonly [pattern: RegExp, type: string])[] = [
  [/^(str|string|text)$/i, 'string'],
  [/^(int|integer)$/, 'integer'],
  [/^(float|number|Decimal)$/, 'number'],
  [/^bool(ean)?$/, 'boolean'],
  [/^(list|tuple|set|sequence|array)\b/i, 'array'],
  [/^(dict|mapping|object)\b/i, 'object'],
  [/^(null|None)$/, 'null'],
];

/** The type of JSON Schema for a plain type of Python; undefined if it is another one. */
export const jsonTypeOf = (written: string): string | undefined =>
  TYPES.find(([pattern]) => pattern.test(written))?.[1];

/** What the framework passes in; a model does not. */
const INJECTED = /^(self|cls|context_variables|context|ctx|_\w*)$/;

/**
 * The JSON Schema of the parameters of a function in Python source; undefined if the source does not define it. Only
 * the signature is read: names, the plain types, and which of them have a default.
 */
export function parametersOf(source: string, name: string): JsonObject | undefined {
  const start = new RegExp(String.raw`^[ \t]*(?:async[ \t]+)?def[ \t]+${name}[ \t]*\(`, 'm').exec(source);
  if (start === null) return undefined;
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const parameter of splitParameters(source, start.index + start[0].length)) {
    const found = /^(\w+)\s*(?::\s*([\s\S]*?))?\s*(?:=\s*([\s\S]*))?$/.exec(parameter);
    const [, called = '', type = '', fallback] = found ?? [];
    if (called === '' || INJECTED.test(called)) continue;
    properties[called] = schemaOf(type.trim());
    if (fallback === undefined && !/^Optional\b|\bNone$/.test(type)) required.push(called);
  }
  return defined({ type: 'object', properties, required: required.length === 0 ? undefined : required });
}

function schemaOf(written: string): JsonObject {
  const annotated = /^Annotated\[\s*([^,]+),\s*(["'])([\s\S]*)\2\s*\]$/.exec(written);
  const type = (annotated?.[1] ?? written).replace(/^Optional\[(.*)\]$/s, '$1').replace(/\s*\|\s*None$/, '');
  return defined({ type: jsonTypeOf(type), description: annotated?.[3] });
}

/** The parameters of a signature, from behind its opening bracket on. */
function splitParameters(source: string, from: number): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (let at = from; at < source.length; at++) {
    const character = source.charAt(at);
    if (character === '"' || character === "'") {
      const end = source.indexOf(character, at + 1);
      if (end < 0) break;
      part += source.slice(at, end + 1);
      at = end;
    } else if (character === '#') {
      const end = source.indexOf('\n', at);
      if (end < 0) break;
      at = end;
    } else if (depth === 0 && (character === ',' || character === ')')) {
      parts.push(part.trim());
      part = '';
      if (character === ')') break;
    } else {
      if ('([{'.includes(character)) depth++;
      if (')]}'.includes(character)) depth--;
      part += character;
    }
  }
  return parts.filter((each) => each !== '');
}

export interface CelNames {
  /** What stands for a name in CEL. */
  reference(name: string): string;
  /** Whether the name is known to be true or false. */
  isBoolean(name: string): boolean;
}

const TOKEN =
  /\s*(?:(\$\{\s*[\w.]+\s*\})|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(\d+(?:\.\d+)?)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(==|!=|<=|>=|&&|\|\||[<>()[\],+\-*/%!&|]))/y;

/**
 * A condition in Python as CEL: `and or not in is`, comparisons (also `a < b < c`), sums, lists and `len`. `${name}`
 * and a bare name are variables. A variable that stands alone counts as Python counts it: empty, 0 and None are false.
 * Undefined if there is something else in it.
 */
export function conditionToCel(text: string, names: CelNames): string | undefined {
  const tokens = tokensOf(text);
  if (tokens === undefined || tokens.length === 0) return undefined;
  const parser = new ConditionParser(tokens, names);
  return parser.parse();
}

function tokensOf(text: string): readonly string[] | undefined {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null || found.index !== from) return undefined;
    const [whole] = found;
    tokens.push(whole.trim());
  }
  return tokens;
}

interface Operand {
  readonly cel: string;
  /** The variable it is, if it is nothing else. */
  readonly name?: string;
}

class UnknownSyntax extends Error {}

class ConditionParser {
  readonly #tokens: readonly string[];
  readonly #names: CelNames;
  #at = 0;

  constructor(tokens: readonly string[], names: CelNames) {
    this.#tokens = tokens;
    this.#names = names;
  }

  parse(): string | undefined {
    try {
      const cel = this.#truth(this.#or());
      return this.#at === this.#tokens.length ? cel : undefined;
    } catch (thrown) {
      if (thrown instanceof UnknownSyntax) return undefined;
      throw thrown;
    }
  }

  #peek(...words: readonly string[]): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && words.includes(token);
  }

  #take(...words: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !words.includes(token)) return undefined;
    this.#at++;
    return token;
  }

  #or(): Operand {
    let left = this.#and();
    while (this.#take('or', '|', '||') !== undefined) {
      const right = this.#and();
      left = { cel: `${this.#truth(left)} || ${this.#truth(right)}` };
    }
    return left;
  }

  #and(): Operand {
    let left = this.#not();
    while (this.#take('and', '&', '&&') !== undefined) {
      const right = this.#not();
      left = { cel: `${this.#bracketed(left)} && ${this.#bracketed(right)}` };
    }
    return left;
  }

  #not(): Operand {
    if (this.#take('not', '!') !== undefined) return { cel: `!(${this.#truth(this.#not())})` };
    return this.#comparison();
  }

  #comparison(): Operand {
    let left = this.#sum();
    const parts: string[] = [];
    for (;;) {
      const operator = this.#operator();
      if (operator === undefined) break;
      const right = this.#sum();
      parts.push(
        operator === 'not in' ? `!(${left.cel} in ${right.cel})` : `${left.cel} ${operator} ${right.cel}`,
      );
      left = right;
    }
    return parts.length === 0 ? left : { cel: parts.join(' && ') };
  }

  #operator(): string | undefined {
    if (this.#take('is') !== undefined) return this.#take('not') === undefined ? '==' : '!=';
    if (this.#peek('not') && this.#tokens[this.#at + 1] === 'in') {
      this.#at += 2;
      return 'not in';
    }
    return this.#take('==', '!=', '<=', '>=', '<', '>', 'in');
  }

  #sum(): Operand {
    let left = this.#primary();
    for (;;) {
      const operator = this.#take('+', '-', '*', '/', '%');
      if (operator === undefined) return left;
      left = { cel: `${left.cel} ${operator} ${this.#primary().cel}` };
    }
  }

  #primary(): Operand {
    const token = this.#tokens[this.#at];
    this.#at++;
    if (token === undefined) throw new UnknownSyntax();
    if (/^["'\d]/.test(token)) return { cel: token };
    if (token === '-') return { cel: `-${this.#primary().cel}` };
    if (token === '(') return { cel: `(${this.#closed(this.#or(), ')')})` };
    if (token === '[') return { cel: this.#list() };
    const constant = { True: 'true', true: 'true', False: 'false', false: 'false', None: 'null' }[token];
    if (constant !== undefined) return { cel: constant };
    const name = /^(?:\$\{\s*([\w.]+)\s*\}|([A-Za-z_][\w.]*))$/.exec(token);
    if (name === null) throw new UnknownSyntax();
    if (this.#take('(') !== undefined) {
      if (token !== 'len') throw new UnknownSyntax();
      return { cel: `size(${this.#closed(this.#or(), ')')})` };
    }
    if (this.#peek('[')) throw new UnknownSyntax();
    const called = name[1] ?? name[2] ?? '';
    return { cel: this.#names.reference(called), name: called };
  }

  #closed({ cel }: Operand, bracket: string): string {
    if (this.#take(bracket) === undefined) throw new UnknownSyntax();
    return cel;
  }

  #list(): string {
    const items: string[] = [];
    while (this.#take(']') === undefined) {
      items.push(this.#sum().cel);
      if (this.#take(',') === undefined && !this.#peek(']')) throw new UnknownSyntax();
    }
    return `[${items.join(', ')}]`;
  }

  #truth({ cel, name }: Operand): string {
    return name === undefined || this.#names.isBoolean(name) ? cel : `!(${cel} in [null, false, 0, "", []])`;
  }

  #bracketed(operand: Operand): string {
    const cel = this.#truth(operand);
    return cel.includes(' || ') ? `(${cel})` : cel;
  }
}
