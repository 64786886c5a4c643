import { ACTION_KINDS, ON_ERROR } from '../../lib/calls.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { ActionIntent, Place } from '../intents.ts';
import { readObject, strictJson } from '../json/tolerant-json.ts';

/**
 * An intent begins as a copy of this. As a literal it would be tied to the place that makes it: the engine learns that
 * intents live long, makes them in the old generation from then on, and one that was dropped keeps all it holds until
 * that is collected. 7 % of the time at 4 characters a chunk.
 */
const PLAIN = { type: 'action', id: '', kind: 'tool', mode: 'async', name: undefined, parameters: undefined };

/** The event of an action that has been checked, fields always in the same order. */
export function makeIntent(
  kind: string | undefined,
  mode: string | undefined,
  body: Envelope,
  id: string,
  place: Place,
  repaired: boolean,
): ActionIntent {
  const { name, template, parameters = {} } = body;
  let intent: Record<string, unknown>;
  if (template === undefined) {
    intent = { ...PLAIN };
    intent.id = id;
    if (kind !== undefined) intent.kind = kind;
    if (mode !== undefined) intent.mode = mode;
    intent.name = name;
    intent.parameters = parameters;
  } else {
    intent = { type: 'action', id };
    if (kind !== undefined) intent.kind = kind;
    if (mode !== undefined) intent.mode = mode;
    if (name !== undefined) intent.name = name;
    intent.parameters = parameters;
  }
  if (body.output_key !== undefined) intent.output_key = body.output_key;
  if (body.depends_on !== undefined) intent.depends_on = body.depends_on;
  if (body.timeout !== undefined) intent.timeout = body.timeout;
  if (body.retry !== undefined) intent.retry = body.retry;
  if (body.on_error !== undefined) intent.on_error = body.on_error;
  if (body.if !== undefined) intent.if = body.if;
  if (body.compensate !== undefined) intent.compensate = body.compensate;
  if (template !== undefined) intent.template = template;
  if (body.literal !== undefined) intent.literal = body.literal;
  if (place !== 'outside') intent.in = place;
  if (repaired) intent.repaired = true;
  return intent as unknown as ActionIntent;
}

/** The fields of an action's body, in the order in which they stand in the event. */
const FIELDS = [
  'name',
  'parameters',
  'output_key',
  'depends_on',
  'timeout',
  'retry',
  'on_error',
  'if',
  'compensate',
  'template',
  'literal',
] as const;
type EnvelopeField = (typeof FIELDS)[number];

/** What belongs into the tag. */
const ATTRIBUTES: readonly string[] = ['type', 'mode', 'id'];

/** What `type` of the action that undoes another may be, as on a tag. */
const UNDO_KINDS: readonly Json[] = [...ACTION_KINDS, 'context_feed'];

export const BODY_FIELDS: readonly string[] = FIELDS;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** What may be an `output_key`. */
export const isVariableName = (text: string): boolean => VARIABLE.test(text);

/** Within `for … in` the engine knows what this says of most objects; `Object.hasOwn` is a call for each key. */
const isOwn = Object.prototype.hasOwnProperty;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** What a field must be, in words for the model. */
const MUST_BE: Readonly<Record<EnvelopeField, string>> = {
  name: 'a string that is not empty',
  parameters: 'an object',
  output_key: 'a name of letters, digits, "_" and "-", not beginning with a digit',
  depends_on: 'a list of action ids, such as ["fetch"]',
  timeout: 'a number of seconds above 0',
  retry: 'a whole number of further tries, 0 or more',
  on_error: `one of ${ON_ERROR.join(', ')}`,
  if: 'a test, as a string',
  compensate: 'an object: the action that undoes this one',
  template: 'the name of an action template',
  literal: 'true or false',
};

/**
 * Puts a field where it belongs: 0 if there is none of that name, -1 if it is not what it must be. A `switch`, since
 * tables of functions and of fields, looked up by name, take twice as long.
 */
function put(envelope: Envelope, key: string, value: Json): -1 | 0 | 1 {
  switch (key) {
    case 'name':
      envelope.name = value;
      return isText(value) ? 1 : -1;
    case 'parameters':
      envelope.parameters = value;
      return isJsonObject(value) ? 1 : -1;
    case 'output_key':
      envelope.output_key = value;
      return isText(value) && VARIABLE.test(value) ? 1 : -1;
    case 'depends_on':
      envelope.depends_on = value;
      return Array.isArray(value) && value.every(isText) ? 1 : -1;
    case 'timeout':
      envelope.timeout = value;
      return typeof value === 'number' && Number.isFinite(value) && value > 0 ? 1 : -1;
    case 'retry':
      envelope.retry = value;
      return Number.isInteger(value) && (value as number) >= 0 ? 1 : -1;
    case 'on_error':
      envelope.on_error = value;
      return ON_ERROR.includes(value as never) ? 1 : -1;
    case 'if':
      envelope.if = value;
      return isText(value) ? 1 : -1;
    case 'compensate':
      envelope.compensate = value;
      return isJsonObject(value) ? 1 : -1;
    case 'template':
      envelope.template = value;
      return isText(value) ? 1 : -1;
    case 'literal':
      envelope.literal = value;
      return typeof value === 'boolean' ? 1 : -1;
    default:
      return 0;
  }
}

/** An action's body, field by field; undefined where it is absent or null. Always of one shape. */
export type Envelope = { [F in EnvelopeField]: Json | undefined };

/**
 * Reads an action's body, or says what is wrong with it, in words for the model. `null` is absent. A misspelt field is
 * an error, not ignored: an action whose `depends_on` went unread would run too early. Own properties only.
 */
export function readEnvelope(
  body: JsonObject,
  /** What to say of a field that no action has. */
  strange: (key: string) => string = unknownField,
): Envelope | string {
  const envelope = readFields(body, false, strange);
  if (typeof envelope === 'string') return envelope;
  // An action's `compensate` is an action again; the body's depth bounds the walk.
  let undo = envelope.compensate;
  for (
    let where = 'In "compensate": ';
    undo !== undefined;
    where = `In "compensate": ${where}`.slice(0, 80)
  ) {
    const inner = readFields(undo as JsonObject, true, unknownInUndo);
    if (typeof inner === 'string') return where + inner;
    undo = inner.compensate;
  }
  return envelope;
}

function readFields(body: JsonObject, nested: boolean, strange: (key: string) => string): Envelope | string {
  const envelope: Envelope = {
    name: undefined,
    parameters: undefined,
    output_key: undefined,
    depends_on: undefined,
    timeout: undefined,
    retry: undefined,
    on_error: undefined,
    if: undefined,
    compensate: undefined,
    template: undefined,
    literal: undefined,
  };
  for (const key in body) {
    if (!isOwn.call(body, key)) continue;
    const value = body[key] as Json;
    if (value === null) continue;
    if (nested && key === 'type') {
      if (UNDO_KINDS.includes(value)) continue;
      return `"type" must be one of ${UNDO_KINDS.join(', ')}.`;
    }
    const found = put(envelope, key, value);
    if (found === 0) return strange(key);
    if (found < 0)
      return `"${key}" must be ${MUST_BE[key as EnvelopeField]}, but it is ${shown(value, key)}.`;
  }
  if (envelope.name === undefined && envelope.template === undefined) {
    return 'the body has no "name": write {"name": "…", "parameters": {…}}.';
  }
  return envelope;
}

function unknownField(key: string): string {
  if (ATTRIBUTES.includes(key)) return `"${key}" belongs in the tag, not in the JSON: <action ${key}="…">.`;
  return `an action has no field "${clip(key)}". ${suggest(key, FIELDS, 'Fields')} Put the target's input into "parameters".`;
}

/** What undoes an action is written inside it, in every dialect, and has no tag of its own. */
const unknownInUndo = (key: string): string =>
  ATTRIBUTES.includes(key) ? `it has no "${key}": leave that out.` : unknownField(key);

function shown(value: unknown, key?: string): string {
  if (Array.isArray(value)) {
    return key === 'depends_on' ? `a list with ${shown(value.find((id) => !isText(id)))} in it` : 'a list';
  }
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object';
  return clip(JSON.stringify(value) ?? String(value));
}

/** As much of what a model wrote as a message quotes. */
export const clip = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** What other systems call the parameters of a call. */
const NAMES = ['parameters', 'arguments', 'args', 'input', 'params', 'action_input'] as const;
type ParametersName = (typeof NAMES)[number];

/** What is called, in our words and in those of other systems. */
const NAMED_BY: readonly string[] = ['name', 'tool', 'action'];

/**
 * A call under our names: `{tool, params}` and `{action, action_input}` are `{name, parameters}`. `own` is what the
 * parameters are called. A text says what is unclear, in words for the model.
 */
export function withOurNames(body: JsonObject, own: ParametersName): JsonObject | string {
  if (typeof body.tool !== 'string' && typeof body.action !== 'string') return withParameters(body, own);
  const names = NAMED_BY.filter((key) => (body[key] ?? null) !== null);
  const [first = ''] = names;
  const other = names.find((key) => body[key] !== body[first]);
  if (other !== undefined)
    return `"${first}" and "${other}" are both given and differ, so it is unclear what is called. Write "name" only.`;
  const rest = Object.entries(body).filter(([key]) => !names.includes(key));
  return withParameters({ name: body[first] ?? null, ...Object.fromEntries(rest) }, own);
}

/**
 * A body in which the parameters stand under their own name, `own`, where it had them under another system's, and are an
 * object, where it had them as the JSON of one. A text says what is unclear, in words for the model.
 */
function withParameters(body: JsonObject, own: ParametersName): JsonObject | string {
  const given = NAMES.filter((name) => (body[name] ?? null) !== null);
  const [first, ...others] = given;
  if (first === undefined || (first === own && others.length === 0 && isJsonObject(body[own]))) return body;
  const parameters = objectOf(body[first]);
  const other = others.find((name) => JSON.stringify(objectOf(body[name])) !== JSON.stringify(parameters));
  if (other !== undefined)
    return `"${first}" and "${other}" are both given and differ, so it is unclear which of them are the parameters. Write "${own}" only.`;
  const rest = Object.entries(body).filter(([key]) => !(NAMES as readonly string[]).includes(key));
  return Object.fromEntries([...rest, [own, parameters]]) as JsonObject;
}

/** An object, as it is or as JSON in a string; anything else is left for the check of the fields. */
function objectOf(value: Json | undefined): Json {
  return (typeof value === 'string' ? objectIn(value) : value) ?? value ?? null;
}

/** The object that a text is as JSON; no text is an empty one. Some models put their JSON into a string twice. */
export function objectIn(text: string): JsonObject | undefined {
  const strict = strictJson(text);
  const inner = typeof strict === 'string' ? strict : text;
  if (inner.trim() === '') return {};
  const object = readObject(inner, inner === text ? strict : strictJson(inner));
  return typeof object === 'string' ? undefined : object;
}
