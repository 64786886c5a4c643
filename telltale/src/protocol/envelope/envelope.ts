import { ACTION_KINDS, ON_ERROR } from '../../kernel/action-envelope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';

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
] as const;
type Field = (typeof FIELDS)[number];

/** What belongs into the tag. */
const ATTRIBUTES: readonly string[] = ['type', 'mode', 'id'];

export const BODY_FIELDS: readonly string[] = FIELDS;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_-]*$/;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
interface FieldCheck {
  readonly test: (value: unknown) => boolean;
  readonly mustBe: string;
}

const check = (test: FieldCheck['test'], mustBe: string): FieldCheck => ({ test, mustBe });

const CHECKS: Readonly<Record<Field, FieldCheck>> = {
  name: check(isText, 'a string that is not empty'),
  parameters: check(isJsonObject, 'an object'),
  output_key: check(
    (v) => isText(v) && VARIABLE.test(v),
    'a name of letters, digits, "_" and "-", not beginning with a digit',
  ),
  depends_on: check((v) => Array.isArray(v) && v.every(isText), 'a list of action ids, such as ["fetch"]'),
  timeout: check((v) => typeof v === 'number' && Number.isFinite(v) && v > 0, 'a number of seconds above 0'),
  retry: check(
    (v) => Number.isInteger(v) && (v as number) >= 0,
    'a whole number of further tries, 0 or more',
  ),
  on_error: check((v) => ON_ERROR.includes(v as never), `one of ${ON_ERROR.join(', ')}`),
  if: check(isText, 'a test, as a string'),
  compensate: check(isJsonObject, 'an object: the action that undoes this one'),
  template: check(isText, 'the name of an action template'),
};

/** An action's body, field by field; undefined where it is absent or null. Always of one shape. */
export type Envelope = { [F in Field]: Json | undefined };

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
    const inner = readFields(undo as JsonObject, true, unknownField);
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
  };
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === null) continue;
    if (nested && key === 'type') {
      if (ACTION_KINDS.includes(value as never)) continue;
      return `"type" must be one of ${ACTION_KINDS.join(', ')}.`;
    }
    if (!isField(key)) return strange(key);
    const { test, mustBe } = CHECKS[key];
    if (!test(value)) return `"${key}" must be ${mustBe}, but it is ${shown(value)}.`;
    envelope[key] = value;
  }
  if (envelope.name === undefined && envelope.template === undefined) {
    return 'the body has no "name": write {"name": "…", "parameters": {…}}.';
  }
  return envelope;
}

const isField = (key: string): key is Field => Object.hasOwn(CHECKS, key);

function unknownField(key: string): string {
  if (ATTRIBUTES.includes(key)) return `"${key}" belongs in the tag, not in the JSON: <action ${key}="…">.`;
  return `an action has no field "${clip(key)}". ${suggest(key, FIELDS, 'Fields')} What the target takes goes into "parameters".`;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return clip(JSON.stringify(value) ?? String(value));
}

/** As much of what a model wrote as a message quotes. */
export const clip = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
