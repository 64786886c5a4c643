import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { strictJson } from '../json/parse-value.ts';
import { readObject } from '../json/read-object.ts';

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
