import { ACTION_KINDS } from '../../kernel/action-envelope.ts';
import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { isId } from '../envelope/action-id.ts';
import { BODY_FIELDS } from '../envelope/envelope.ts';
import { objectIn } from '../envelope/parameters.ts';
import { isCallName, type RawCall } from './source.ts';

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
