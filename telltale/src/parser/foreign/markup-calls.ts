import type { JsonObject } from '../../lib/json.ts';
import { objectIn } from '../envelope/envelope.ts';
import {
  type CodeCallsFound,
  callsInJson,
  isCallName,
  parametersOf,
  type RawCall,
  Source,
  withFields,
} from './code-calls.ts';

/** An opening tag. Its length is bounded, since a pattern may be tried at each `<`. */
const TAG =
  /<((?:[A-Za-z][\w-]{0,31}:)?([A-Za-z_][\w.-]{0,127}))((?:[ \t\r\n]{1,8}[\w-]{1,40}[ \t]{0,8}=[ \t]{0,8}(?:"[^"<]{0,200}"|'[^'<]{0,200}'|[^\s"'<>]{1,100})){0,12})[ \t\r\n]{0,8}(\/?)>/y;
const ATTRIBUTE = /([\w-]+)[ \t]*=[ \t]*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))/g;
/** `<function=search>`, `<parameter=query>` */
const ASSIGNED = /<(function|parameter|tool)=["']?([^\s<>"']{1,128})["']?[ \t]{0,8}>/y;
const CHILD =
  /<(?:[A-Za-z][\w-]{0,31}:)?([A-Za-z_][\w.-]{0,127})(?:[ \t]{1,8}name[ \t]{0,8}=[ \t]{0,8}["']([^"'<>]{1,128})["'])?[^<>]{0,100}>/y;
const ARG_KEY = /<arg_key>([^<]{1,128})<\/arg_key>[ \t\r\n]{0,32}<arg_value>/y;
const BARE_NAME = /([A-Za-z_][\w.:/-]{0,127})[ \t\r\n]{0,32}(?=<arg_key>|<\/)/y;

/** Elements that hold one call of the target which an attribute or a child of theirs names. */
const CALL_ELEMENTS = new Set([
  'invoke',
  'tool_use',
  'tool_call',
  'function_call',
  'tool',
  'function',
  'use_mcp_tool',
]);
/** What the runtime writes into prompts: an answer may quote it, whatever is called the same. */
const RUNTIME_BLOCKS = new Set(['result', 'context_feed']);
const NAME_CHILDREN = ['tool_name', 'name', 'function_name'];
const INPUT_CHILDREN = ['parameters', 'arguments', 'input', 'args', 'tool_input'];

/** The call that the element at `at` is, if it is one. */
export function readElementCall(source: Source, at: number): CodeCallsFound | undefined {
  const assigned = source.match(ASSIGNED, at);
  if (assigned !== null) {
    const [tag, element = '', name = ''] = assigned;
    if (element === 'parameter' || !isCallName(name)) return undefined;
    return readCall(source, { name, from: at + tag.length, closer: `</${element}>`, fields: {} });
  }
  const tag = source.match(TAG, at);
  if (tag === null) return undefined;
  const [whole, spelled = '', element = '', attributeText = '', selfClosing] = tag;
  const attributes = attributesOf(attributeText);
  const { name: attributeName, type, ...others } = attributes;
  const from = at + whole.length;
  const closer = `</${spelled}>`;
  if (element === 'action') {
    const fields = type === undefined ? others : { type, ...others };
    const read = selfClosing === '/' ? undefined : readTagBody(source, from, closer, attributeName, fields);
    if (read !== undefined) return read;
    if (!isCallName(attributeName)) return undefined;
    return emptyCall(source, attributeName, fields, from, selfClosing === '/' ? '' : closer, 'tags');
  }
  const known = source.isKnown(element) && !RUNTIME_BLOCKS.has(element);
  if (!known && !CALL_ELEMENTS.has(element)) return undefined;
  const name = known ? element : attributeName;
  if (selfClosing === '/') return isCallName(name) ? emptyCall(source, name, {}, from, '', 'xml') : undefined;
  return readCall(source, { name: isCallName(name) ? name : undefined, from, closer, fields: {} });
}

interface CallElement {
  /** Undefined where a child has to name it. */
  readonly name: string | undefined;
  readonly from: number;
  readonly closer: string;
  readonly fields: JsonObject;
}

function readCall(source: Source, { name, from, closer, fields }: CallElement): CodeCallsFound | undefined {
  const { text } = source;
  const at = source.skipSpace(from);
  if (text[at] === '{' || text[at] === '[') return readJsonContent(source, name, at, closer);
  if (name === undefined) {
    const bare = source.match(BARE_NAME, at);
    if (bare !== null) {
      const children = readChildren(source, at + bare[0].length, closer);
      return children && found(bare[1] ?? '', children.values, fields, children.end);
    }
  }
  const children = readChildren(source, at, closer);
  if (children === undefined) return undefined;
  const { values, end } = children;
  if (name !== undefined) return found(name, soleInput(values) ?? values, fields, end);
  const nameKey = NAME_CHILDREN.find((key) => isCallName(trimmed(values[key])));
  if (nameKey === undefined) return undefined;
  const inputKey = INPUT_CHILDREN.find((key) => values[key] !== undefined);
  return found(trimmed(values[nameKey]) ?? '', inputOf(source, values[inputKey ?? '']), fields, end);
}

const found = (
  name: string,
  parameters: JsonObject | undefined,
  fields: JsonObject,
  end: number,
): CodeCallsFound | undefined =>
  parameters && isCallName(name)
    ? { calls: [withFields(name, parameters, fields)], form: 'xml', end }
    : undefined;

const trimmed = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.trim() : undefined;

/** `<invoke name="x"><parameters>{"a": 1}</parameters></invoke>` */
function soleInput(values: JsonObject): JsonObject | undefined {
  const keys = Object.keys(values);
  const value = trimmed(values[keys[0] ?? '']);
  if (keys.length !== 1 || !INPUT_CHILDREN.includes(keys[0] ?? '') || value === undefined) return undefined;
  return value.startsWith('{') ? objectIn(value) : undefined;
}

/** Parameters in an element of their own: as JSON, or as one element for each. */
function inputOf(source: Source, value: unknown): JsonObject | undefined {
  const content = trimmed(value) ?? '';
  if (content === '') return {};
  if (content.startsWith('<')) return readChildren(new Source(content, source.names), 0, '')?.values;
  return parametersOf(content, true);
}

/** JSON between the tags: the parameters where the tag names the target, else calls. The closing tag may be missing at the end. */
function readJsonContent(
  source: Source,
  name: string | undefined,
  from: number,
  closer: string,
): CodeCallsFound | undefined {
  const calls: RawCall[] = [];
  let at = from;
  while (source.text[at] === '{' || source.text[at] === '[') {
    const read = source.json(at);
    if (read === undefined) return undefined;
    at = source.skipSpace(read.end);
    const parameters = name === undefined ? undefined : parametersOf(read.value, true);
    const inside =
      parameters === undefined ? callsInJson(read.value, true) : [withFields(name ?? '', parameters, {})];
    if (inside === undefined) return undefined;
    calls.push(...inside);
  }
  const end = closeOrEnd(source, at, closer);
  return end === undefined ? undefined : { calls, form: 'xml', end };
}

/** Behind the closing tag at `at`; there too where the text ends without one. */
function closeOrEnd({ text }: Source, at: number, closer: string): number | undefined {
  if (at >= text.length) return at;
  return closer !== '' && text.startsWith(closer, at) ? at + closer.length : undefined;
}

/** Elements side by side up to `closer`, each by its name, with its text as it stands. */
function readChildren(
  source: Source,
  from: number,
  closer: string,
): { values: JsonObject; end: number } | undefined {
  const { text } = source;
  const values: [string, string][] = [];
  for (let at = source.skipSpace(from); ; at = source.skipSpace(at)) {
    const end = closeOrEnd(source, at, closer);
    // An element that is left open with nothing in it is no call.
    if (end !== undefined)
      return end > at || values.length > 0 ? { values: Object.fromEntries(values), end } : undefined;
    const child = childAt(source, at);
    const to = child === undefined ? -1 : source.find(child.closer, child.from);
    if (child === undefined || to === -1) return undefined;
    values.push([child.key, withoutOuterBreaks(text.slice(child.from, to))]);
    at = to + child.closer.length;
  }
}

function childAt(source: Source, at: number): { key: string; from: number; closer: string } | undefined {
  const assigned = source.match(ASSIGNED, at);
  if (assigned !== null && assigned[1] === 'parameter')
    return { key: assigned[2] ?? '', from: at + assigned[0].length, closer: '</parameter>' };
  const pair = source.match(ARG_KEY, at);
  if (pair !== null)
    return { key: (pair[1] ?? '').trim(), from: at + pair[0].length, closer: '</arg_value>' };
  const child = source.match(CHILD, at);
  if (child === null) return undefined;
  const [tag, element = '', name] = child;
  const spelled = tag.slice(1).split(/[\s>]/, 1)[0] ?? element;
  return { key: name ?? element, from: at + tag.length, closer: `</${spelled}>` };
}

/** A value between two lines of its own. One that only ends with a line break has that break. */
const withoutOuterBreaks = (value: string): string =>
  /^\r?\n/.test(value) ? value.replace(/^\r?\n/, '').replace(/\r?\n[ \t]*$/, '') : value;

function attributesOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(ATTRIBUTE)];
  return Object.fromEntries(pairs.map(([, name, double, single, bare]) => [name, double ?? single ?? bare]));
}

/** One of our own tags, written as text. */
function readTagBody(
  source: Source,
  from: number,
  closer: string,
  name: string | undefined,
  attributes: JsonObject,
): CodeCallsFound | undefined {
  const at = source.skipSpace(from);
  const read = source.text[at] === '{' ? source.json(at) : undefined;
  if (read === undefined) return undefined;
  const end = closeOrEnd(source, source.skipSpace(read.end), closer);
  if (end === undefined) return undefined;
  const calls = callsInJson(read.value, true);
  const [call] = calls ?? [];
  if (call !== undefined)
    return { calls: [{ ...call, fields: { ...attributes, ...call.fields } }], form: 'tags', end };
  const parameters = isCallName(name) ? parametersOf(read.value, true) : undefined;
  return parameters === undefined
    ? undefined
    : { calls: [withFields(name ?? '', parameters, attributes)], form: 'tags', end };
}

function emptyCall(
  source: Source,
  name: string,
  fields: JsonObject,
  from: number,
  closer: string,
  form: 'tags' | 'xml',
): CodeCallsFound | undefined {
  const at = closer === '' ? from : source.skipSpace(from);
  if (!source.text.startsWith(closer, at)) return undefined;
  return { calls: [withFields(name, {}, fields)], form, end: at + closer.length };
}
