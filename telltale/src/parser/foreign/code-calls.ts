import { ACTION_KINDS } from '../../lib/calls.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { BODY_FIELDS, objectIn } from '../envelope/envelope.ts';
import { isId } from '../envelope/ids.ts';
import { readJsonAt } from '../json/tolerant-json.ts';

const OPENING = /(?:print\()?(?:await )?([A-Za-z_][\w.-]{0,127})[ \t]{0,4}\(/y;
const KEYWORD = /([A-Za-z_]\w{0,127})[ \t]{0,8}=[ \t]{0,8}(?!=)/y;
const PYTHON_WORD = /(True|False|None)\b/y;
const WORDS: Readonly<Record<string, Json>> = { True: true, False: false, None: null };
const REACT =
  /(?:\*\*)?Action:(?:\*\*)?[ \t]{0,8}[`"']?([A-Za-z_][\w.:/-]{0,127})[`"']?[ \t]{0,8}\r?\n\s{0,32}(?:\*\*)?Action Input:(?:\*\*)?[ \t]{0,8}/y;
const FENCE = /\s{0,32}`{3,8}(?:json)?\s{0,32}/y;
const FENCE_END = /\s{0,32}`{3,8}/y;

/** `search({"q": "x"})`, `functions.search(q="x")`, `print(search(q="x"))`. `anyName`: it need not be known. */
export function readCodeCall(source: Source, at: number, anyName = false): CodeCallsFound | undefined {
  const opening = source.match(OPENING, at);
  if (opening === null) return undefined;
  const [head, written = ''] = opening;
  const name = written.endsWith('.call') ? written.slice(0, -'.call'.length) : written;
  if (!isCallName(name) || !(anyName || source.isKnown(name))) return undefined;
  const read = readArguments(source, at + head.length);
  if (read === undefined) return undefined;
  let { end } = read;
  if (head.startsWith('print(')) {
    if (source.text[end] !== ')') return undefined;
    end++;
  }
  if (source.text[end] === ';') end++;
  return { calls: [withFields(name, read.parameters, {})], form: 'code', end };
}

/** Calls as a list of Python: `[search(q="x"), clock()]`. */
export function readCodeList(source: Source, at: number): CodeCallsFound | undefined {
  const calls: RawCall[] = [];
  let next = source.skipSpace(at + 1);
  for (;;) {
    const call = readCodeCall(source, next);
    if (call === undefined) return undefined;
    calls.push(...call.calls);
    next = source.skipSpace(call.end);
    if (source.text[next] === ']') return { calls, form: 'code', end: next + 1 };
    if (source.text[next] !== ',') return undefined;
    next = source.skipSpace(next + 1);
  }
}

/** From behind the opening bracket: nothing, one object, or keywords. Positions have no names, so they are not read. */
function readArguments(source: Source, from: number): { parameters: JsonObject; end: number } | undefined {
  const { text } = source;
  let at = source.skipSpace(from);
  if (text[at] === ')') return { parameters: {}, end: at + 1 };
  if (text[at] === '{') {
    const read = source.json(at);
    if (read === undefined || !isJsonObject(read.value)) return undefined;
    at = source.skipSpace(read.end);
    return text[at] === ')' ? { parameters: read.value, end: at + 1 } : undefined;
  }
  const entries: [string, Json][] = [];
  for (;;) {
    const keyword = source.match(KEYWORD, at);
    if (keyword === null) return undefined;
    const value = readPythonValue(source, at + keyword[0].length);
    if (value === undefined) return undefined;
    entries.push([keyword[1] ?? '', value.value]);
    at = source.skipSpace(value.end);
    if (text[at] === ',') at = source.skipSpace(at + 1);
    else if (text[at] !== ')') return undefined;
    if (text[at] === ')') return { parameters: Object.fromEntries(entries), end: at + 1 };
  }
}

function readPythonValue(source: Source, at: number): { value: Json; end: number } | undefined {
  const word = source.match(PYTHON_WORD, at);
  if (word !== null) return { value: WORDS[word[0]] ?? null, end: at + word[0].length };
  const read = source.json(at);
  return read && { value: read.value as Json, end: read.end };
}

/** `Action: search` and, on the next line, `Action Input: {"q": "x"}`. */
export function readReactCall(source: Source, at: number): CodeCallsFound | undefined {
  const head = source.match(REACT, at);
  if (head === null || !isCallName(head[1])) return undefined;
  const { text } = source;
  let from = at + head[0].length;
  const fence = source.match(FENCE, from);
  if (fence !== null) from += fence[0].length;
  const read = text[from] === '{' ? source.json(from) : undefined;
  if (read !== undefined && isJsonObject(read.value)) {
    const end = read.end + (fence === null ? 0 : (source.match(FENCE_END, read.end)?.[0].length ?? 0));
    return { calls: [withFields(head[1], read.value, {})], form: 'react', end };
  }
  const lineEnd = source.find('\n', from);
  const end = lineEnd === -1 ? text.length : lineEnd;
  const line = text.slice(from, end).trim();
  const parameters = line === 'None' ? {} : parametersOf(line, true);
  return parameters && { calls: [withFields(head[1], parameters, {})], form: 'react', end };
}

/** A list of calls, and one call, under the name of a field. Other fields of the wrapper do not matter. */
const LISTS = ['tool_calls', 'toolCalls', 'tool_uses', 'function_calls'];
const SINGLES = ['function', 'function_call', 'functionCall', 'tool_call', 'toolCall', 'tool_use'];

/** The fields that name what is called, each with the ones that may hold its parameters. */
const PARAMETERS = ['parameters', 'arguments', 'args', 'input', 'params'];
const SHAPES: readonly (readonly [string, readonly string[]])[] = [
  ['name', PARAMETERS],
  ['tool', ['tool_input', 'tool_args', ...PARAMETERS]],
  ['tool_name', ['tool_input', 'tool_args', ...PARAMETERS]],
  ['function', PARAMETERS],
  ['function_name', ['function_args', ...PARAMETERS]],
  ['action', ['action_input']],
  ['recipient_name', PARAMETERS],
];

/** Nothing but a call has these: what they hold need not be an object. */
const CERTAIN = ['tool_input', 'tool_args', 'action_input'];

const ENVELOPE = ['mode', ...BODY_FIELDS.filter((field) => field !== 'name' && field !== 'parameters')];
const BESIDE = new Set([
  ...ENVELOPE,
  'id',
  'type',
  'kind',
  'call_id',
  'tool_call_id',
  'index',
  'status',
  'thought',
  'thoughts',
  'thinking',
  'reasoning',
  'rationale',
  'is_step_complete',
  'notes_so_far',
]);
const KINDS: readonly unknown[] = ACTION_KINDS;
const TYPES: readonly unknown[] = ['function', 'tool_use', 'tool_call', 'function_call', ...KINDS];

/**
 * The calls that a JSON value is, or undefined where it is none, or holds something else besides. `marked`: it stands
 * between marks that are written round calls only, so a name alone is a call without parameters.
 */
export function callsInJson(value: unknown, marked = false): readonly RawCall[] | undefined {
  if (Array.isArray(value)) return callsInList(value, marked);
  if (!isJsonObject(value)) return undefined;
  for (const list of LISTS) if (Array.isArray(value[list])) return callsInList(value[list], true);
  for (const single of SINGLES) {
    const inner = value[single];
    if (!isJsonObject(inner)) continue;
    const call = callOf(inner, true);
    return call === undefined ? undefined : [call];
  }
  const call = callOf(value, marked);
  return call === undefined ? undefined : [call];
}

function callsInList(list: readonly unknown[], marked: boolean): readonly RawCall[] | undefined {
  const calls: RawCall[] = [];
  for (const item of list) {
    const found = isJsonObject(item) ? callsInJson(item, marked) : undefined;
    if (found === undefined) return undefined;
    calls.push(...found);
  }
  return calls.length === 0 ? undefined : calls;
}

function callOf(object: JsonObject, marked: boolean): RawCall | undefined {
  const { type } = object;
  if (type !== undefined && !TYPES.includes(type)) return undefined;
  for (const [nameKey, places] of SHAPES) {
    const name = object[nameKey];
    if (!isCallName(name)) continue;
    const given = places.filter((place) => object[place] !== undefined);
    const [place] = given;
    if (given.length > 1 || (place === undefined && !marked)) continue;
    const strays = Object.keys(object).some(
      (key) => key !== nameKey && key !== place && key !== '_run' && !BESIDE.has(key),
    );
    if (strays && !marked) continue;
    const parameters =
      place === undefined ? {} : parametersOf(object[place], marked || CERTAIN.includes(place));
    if (parameters !== undefined) return withFields(name, parameters, fieldsOf(object));
  }
  return undefined;
}

/** What is said of the call beside its parameters, in our own words for it. */
function fieldsOf(object: JsonObject): JsonObject {
  const fields: Record<string, JsonObject[string]> = {};
  for (const key of ENVELOPE) if (Object.hasOwn(object, key)) fields[key] = object[key] ?? null;
  const { id, type, _run } = object;
  if (type !== 'tool_use' && type !== 'function' && typeof id === 'string' && isId(id)) fields.id = id;
  if (KINDS.includes(type)) fields.type = type ?? null;
  return isJsonObject(_run) ? { ...fields, ..._run } : fields;
}

/** `_run` in the parameters says how to run a call, as in our native dialects. */
export function withFields(name: string, given: JsonObject, fields: JsonObject): RawCall {
  const { _run, ...parameters } = given;
  const all = isJsonObject(_run) ? { ...fields, ..._run } : fields;
  const call = { name, parameters: isJsonObject(_run) ? parameters : given };
  return Object.keys(all).length === 0 ? call : { ...call, fields: all };
}

/** Parameters come as an object, as JSON in a string, or, where it is certain that this is a call, as anything. */
export function parametersOf(value: unknown, certain: boolean): JsonObject | undefined {
  if (isJsonObject(value)) return isSchema(value) ? undefined : value;
  if (value === null || value === undefined) return {};
  if (typeof value === 'string') {
    const object = objectIn(value);
    if (object !== undefined) return object;
  }
  return certain ? { input: value as JsonObject[string] } : undefined;
}

/** The declaration of a tool looks like a call of it. */
const isSchema = (value: JsonObject): boolean =>
  (value.type === 'object' || value.$schema !== undefined) && isJsonObject(value.properties);

/** A call as it stands in the text, before it is known where and how it is quoted. */
export interface RawCall {
  readonly name: string;
  readonly parameters: JsonObject;
  /** Fields of the envelope that it carries beside them, such as `id` or `depends_on`; not checked. */
  readonly fields?: JsonObject;
}

/** What a reader of one form found: at least one call, and the index behind the last character that belongs to it. */
export interface CodeCallsFound {
  readonly calls: readonly RawCall[];
  readonly form: ForeignForm;
  readonly end: number;
}

/** The family of formats that a call was written in. */
export type ForeignForm = 'json' | 'xml' | 'tokens' | 'react' | 'code' | 'tags';

const NAME = /^[A-Za-z_][\w.:/-]{0,127}$/;

export const isCallName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value);

const WORK_PER_CHARACTER = 12;
const LEAST_WORK = 65_536;
/** What was read in vain is read again from its next bracket on. */
const COST_OF_FAILURE = 4;

/**
 * The text that is searched. Every search and every reading of JSON is paid for from one budget that grows with the
 * length of the text, so the work stays linear whatever the text holds: once it is used up, nothing more is found.
 */
export class Source {
  readonly text: string;
  readonly names: ReadonlySet<string> | undefined;
  private work: number;
  private readonly nextMark = new Map<string, number>();

  constructor(text: string, names: ReadonlySet<string> | undefined) {
    this.text = text;
    this.names = names;
    this.work = LEAST_WORK + text.length * WORK_PER_CHARACTER;
  }

  isKnown(name: string): boolean {
    return this.names !== undefined && (this.names.has(name) || this.names.has(withoutPrefix(name)));
  }

  /** Where `mark` stands next, at or behind `from`; -1 where it does not. */
  find(mark: string, from: number): number {
    const known = this.nextMark.get(mark);
    if (known !== undefined && (known === -1 || known >= from)) return known;
    if (this.work <= 0) return -1;
    const found = this.text.indexOf(mark, from);
    this.work -= (found === -1 ? this.text.length : found) - from;
    this.nextMark.set(mark, found);
    return found;
  }

  /** The JSON value that begins at `at`, as models write JSON. */
  json(at: number): { readonly value: unknown; readonly end: number } | undefined {
    if (this.work <= 0) return undefined;
    const { value, end } = readJsonAt(this.text, at);
    this.work -= (end - at + 1) * (value === undefined ? COST_OF_FAILURE : 1);
    return value === undefined ? undefined : { value, end };
  }

  /** Matches a sticky pattern at `at`. The pattern has to bound by itself how far it looks. */
  match(pattern: RegExp, at: number): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(this.text);
  }

  /** The index of the first character at or behind `at` that is no white space. */
  skipSpace(at: number): number {
    let next = at;
    while (next < this.text.length && isBlank(this.text.charCodeAt(next))) next++;
    return next;
  }
}

/** White space, a byte order mark and a zero-width space. */
export const isBlank = (c: number): boolean =>
  c === 32 || (c >= 9 && c <= 13) || c === 0xfeff || c === 0x200b || c === 0xa0;

const PREFIX = /^(?:functions|default_api)\./;

/** OpenAI's and Gemini's models write the namespace of their tools in front of a name. */
export const withoutPrefix = (name: string): string => name.replace(PREFIX, '');
