import { isJsonObject, type Json, type JsonObject } from '../../../../telltale/src/lib/json.ts';

/** A form field for a property of a JSON Schema. */
export interface InputField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'flag' | 'choice' | 'json';
  readonly required: boolean;
  readonly description?: string;
  readonly options?: readonly string[];
  /** The value that is used if none is given. */
  readonly fallback?: string;
}

/** The maximum number of fields in a form. For a schema with more, the input is written as JSON. */
const MAX_FIELDS = 24;

/**
 * The form fields of a simple schema, which is an object with named properties. Undefined if only JSON can express the
 * input.
 */
export function inputFields(schema: JsonObject | undefined): readonly InputField[] | undefined {
  if (schema === undefined) return [];
  const { type, properties, required } = schema;
  if (type !== 'object' && type !== undefined) return undefined;
  const needed = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const described = isJsonObject(properties) ? properties : {};
  const names = [...new Set([...needed, ...Object.keys(described)])];
  if (names.length === 0 || names.length > MAX_FIELDS) return undefined;
  return names.map((name) => fieldOf(name, described[name], needed.includes(name)));
}

function fieldOf(name: string, schema: Json | undefined, required: boolean): InputField {
  const { type, enum: options, description, default: fallback } = isJsonObject(schema) ? schema : {};
  const choices =
    Array.isArray(options) && options.every((one) => typeof one === 'string') ? options : undefined;
  const kind =
    choices !== undefined
      ? 'choice'
      : type === 'string'
        ? 'text'
        : type === 'number' || type === 'integer'
          ? 'number'
          : type === 'boolean'
            ? 'flag'
            : 'json';
  return {
    name,
    kind,
    required,
    ...(typeof description === 'string' ? { description } : {}),
    ...(choices === undefined ? {} : { options: choices as readonly string[] }),
    ...(fallback === undefined ? {} : { fallback: JSON.stringify(fallback) }),
  };
}

export interface ReadInput {
  readonly input: JsonObject;
  /** What is wrong, by field. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The typed values. Empty fields are omitted. Text that is not JSON counts as text if any value is allowed. */
export function readInput(fields: readonly InputField[], typed: Readonly<Record<string, string>>): ReadInput {
  const input: Record<string, Json> = {};
  const problems: Record<string, string> = {};
  for (const { name, kind, required, fallback } of fields) {
    const text = typed[name] ?? '';
    if (kind === 'flag') {
      if (text !== '') input[name] = text === 'true';
    } else if (text.trim() === '') {
      if (required && fallback === undefined) problems[name] = 'This is required.';
    } else if (kind === 'number') {
      const value = Number(text);
      if (Number.isFinite(value)) input[name] = value;
      else problems[name] = 'Enter a number.';
    } else input[name] = kind === 'json' ? jsonOrText(text) : text;
  }
  return { input, problems };
}

const jsonOrText = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

/** Parses a typed JSON object. A text result says what is wrong with it. */
export function readObject(text: string): JsonObject | string {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : 'Enter a JSON object: { … }.';
  } catch (thrown) {
    return `This is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}.`;
  }
}
