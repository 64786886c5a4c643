import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { parametersOf, withFields } from './json-calls.ts';
import { type Found, isCallName, type RawCall, type Source } from './source.ts';

const OPENING = /(?:print\()?(?:await )?([A-Za-z_][\w.-]{0,127})[ \t]{0,4}\(/y;
const KEYWORD = /([A-Za-z_]\w{0,127})[ \t]{0,8}=[ \t]{0,8}(?!=)/y;
const PYTHON_WORD = /(True|False|None)\b/y;
const WORDS: Readonly<Record<string, Json>> = { True: true, False: false, None: null };
const REACT =
  /(?:\*\*)?Action:(?:\*\*)?[ \t]{0,8}[`"']?([A-Za-z_][\w.:/-]{0,127})[`"']?[ \t]{0,8}\r?\n\s{0,32}(?:\*\*)?Action Input:(?:\*\*)?[ \t]{0,8}/y;
const FENCE = /\s{0,32}`{3,8}(?:json)?\s{0,32}/y;
const FENCE_END = /\s{0,32}`{3,8}/y;

/** `search({"q": "x"})`, `functions.search(q="x")`, `print(search(q="x"))`. `anyName`: it need not be known. */
export function readCodeCall(source: Source, at: number, anyName = false): Found | undefined {
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
export function readCodeList(source: Source, at: number): Found | undefined {
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
export function readReactCall(source: Source, at: number): Found | undefined {
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
