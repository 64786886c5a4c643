/** The reference reading of protocol.md, part three: the action envelope (section 4 and the end of 3). */

import { isDeepStrictEqual } from 'node:util';

import { ACTION_KINDS, ACTION_MODES, ON_ERROR } from '../../src/lib/calls.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { ActionIntent } from '../../src/parser/intents.ts';
import { isObject, readObject } from './reference-json.ts';
import type { Attribute, Attributes } from './reference-lexis.ts';

const isText = (value: Json) => typeof value === 'string' && value !== '';
const isKind = (value: Json) => [...ACTION_KINDS, 'context_feed'].some((kind) => kind === value);

const FIELDS: Readonly<Record<string, (value: Json) => boolean>> = {
  name: isText,
  parameters: isObject,
  output_key: (value) => typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_-]*$/.test(value),
  depends_on: (value) => Array.isArray(value) && value.every(isText),
  timeout: (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  retry: (value) => Number.isInteger(value) && (value as number) >= 0,
  on_error: (value) => ON_ERROR.some((choice) => choice === value),
  if: isText,
  compensate: (value) => isObject(value) && isEnvelope(value, { ...FIELDS, type: isKind }),
  template: isText,
  literal: (value) => typeof value === 'boolean',
};

/** `null` is absent; what is left must be a known field of its type, with a name or a template. */
function isEnvelope(body: JsonObject, fields = FIELDS): boolean {
  const given = present(body);
  const known = given.every(([field, value]) => Object.hasOwn(fields, field) && fields[field]?.(value));
  return known && given.some(([field]) => field === 'name' || field === 'template');
}

const present = (body: JsonObject) => Object.entries(body).filter(([, value]) => value !== null);

export type Envelope = Omit<ActionIntent, 'type' | 'id' | 'in' | 'repaired'>;

/** Undefined is `bad_action`. */
export function readEnvelope(
  body: JsonObject,
  { type: asked, mode: how, id: _, ...written }: ActionAttributes,
  inParallel: boolean,
): Envelope | undefined {
  const whole = withAttributes(body, written);
  if (!whole || !isEnvelope(whole)) return undefined;
  const { parameters = {}, ...fields } = Object.fromEntries(present(whole));
  const defaults = fields.template === undefined ? { type: 'tool', mode: 'async' } : {};
  const type = asked ?? defaults.type;
  const mode = how ?? defaults.mode;
  return {
    ...(type === undefined ? {} : { kind: type === 'context_feed' ? 'internal' : type }),
    ...(mode === undefined ? {} : { mode: inParallel ? 'async' : mode }),
    parameters,
    ...fields,
  } as Envelope;
}

/** "With a `name` attribute the body is the parameters themselves, unless it is an envelope." */
function withAttributes(body: JsonObject, written: JsonObject): JsonObject | undefined {
  const fields = [...Object.keys(FIELDS), 'type', 'mode', 'id'];
  const isWhole = isObject(body.parameters) && Object.keys(body).every((key) => fields.includes(key));
  const given = written.name === undefined ? withParameters(body) : isWhole ? body : { parameters: body };
  if (!given) return undefined;
  // "A field in attribute and body with different values is `bad_action`."
  const differs = Object.entries(written).some(
    ([field, value]) => (given[field] ?? null) !== null && !isDeepStrictEqual(given[field], value),
  );
  return differs ? undefined : { ...given, ...written };
}

/** models.md, rule 6: `arguments`, `args`, `input` for `parameters`; and an object as the JSON of one. */
function withParameters(body: JsonObject): JsonObject | undefined {
  const names = ['parameters', 'arguments', 'args', 'input'].filter((name) => (body[name] ?? null) !== null);
  if (names.length === 0) return body;
  const values = names.map((name) => asObject(body[name]!));
  if (!values.every((value) => isDeepStrictEqual(value, values[0]))) return undefined;
  const rest = Object.entries(body).filter(([key]) => !names.includes(key));
  return Object.fromEntries([...rest, ['parameters', values[0]!]]);
}

function asObject(value: Json): Json {
  if (typeof value !== 'string') return value;
  if (/^\s*$/.test(value)) return {};
  const read = readObject(value)?.value;
  if (read) return read;
  const inner = strictString(value);
  return (inner === undefined ? undefined : asObject(inner)) ?? value;
}

function strictString(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'string' && !/^\s*"/.test(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What is written in the tag, read. */
export type ActionAttributes = JsonObject & {
  readonly type?: string;
  readonly mode?: string;
  readonly id?: string;
};

const ID = /^[A-Za-z0-9_-]+$/;
export const isId = (value: string): boolean => ID.test(value);

/** What an attribute comes to; undefined is `bad_attribute`. */
const ATTRIBUTES: Readonly<Record<string, (value: string) => Json | undefined>> = {
  type: (value) => (isKind(value) ? value : undefined),
  mode: (value) => ACTION_MODES.find((mode) => mode === value),
  id: (value) => (isId(value) ? value : undefined),
  name: (value) => (value === '' ? undefined : value),
  output_key: (value) => (FIELDS.output_key!(value) ? value : undefined),
  depends_on: idsOf,
  timeout: (value) => decimal(value, FIELDS.timeout!),
  retry: (value) => decimal(value, FIELDS.retry!),
  on_error: (value) => (FIELDS.on_error!(value) ? value : undefined),
  literal: (value) => (/^(?:true|false)$/i.test(value) ? /^true$/i.test(value) : undefined),
};

/** "`timeout` and `retry` are decimal numbers." */
function decimal(value: string, allowed: (value: Json) => boolean): number | undefined {
  const number = /^[0-9]+(?:[.][0-9]+)?$/.test(value) ? Number(value) : Number.NaN;
  return allowed(number) ? number : undefined;
}

/** "`depends_on` is a JSON array or ids parted by commas or white space." Ids in brackets have one reading, too. */
function idsOf(value: string): Json | undefined {
  const text = value.trim();
  if (text.startsWith('[')) {
    const list = readObject(`{"list": ${text}}`)?.value.list;
    if (text.endsWith(']') && Array.isArray(list)) return list.every(isText) ? list : undefined;
  }
  const ids = text
    .replace(/^\[(.*)\]$/s, '$1')
    .split(/[\s,]+/)
    .filter((id) => id !== '');
  return ids.every((id) => /^[A-Za-z0-9_-]+(?:\[[0-9]+\])*$/.test(id)) ? ids : undefined;
}

/** Undefined is `bad_attribute`. */
export function readActionAttributes(attributes: Attributes): ActionAttributes | undefined {
  if (!isReadable(attributes)) return undefined;
  const read: [string, Json][] = [];
  for (const { name, value } of attributes.list) {
    if (value === undefined || (name !== 'key' && !Object.hasOwn(ATTRIBUTES, name))) return undefined;
    if (name === 'key') continue;
    const field = ATTRIBUTES[name]!(value);
    if (field === undefined) return undefined;
    read.push([name, field]);
  }
  return Object.fromEntries(read);
}

/** Every attribute is name=value and no name comes twice. */
export const isReadable = ({ list, readable }: Attributes): boolean =>
  readable && new Set(list.map(({ name }) => name)).size === list.length;

export const attributeOf = (list: readonly Attribute[], name: string): string | undefined =>
  list.find((attribute) => attribute.name === name)?.value;
