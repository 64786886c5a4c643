import { compilePattern } from '../../expressions/linear-regex.ts';
import { deepEqual, isPlainObject } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import type { FieldError } from '../../log/session-events.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { compileUserSchema } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import { describeField } from '../../prompt/render-metadata.ts';
import { clip } from '../../prompt/text.ts';

export type MetadataMetadataManifest = AgentManifest['metadata'];

export type MetadataChanges = Readonly<Record<string, { readonly from: Json; readonly to: Json }>>;

export interface MetadataUpdate {
  /** What `metadata.changed` says; empty where nothing is other than it was. */
  readonly changes: MetadataChanges;
  /** Fields that were accepted with the value that they have. */
  readonly same: readonly string[];
  /** What `metadata.rejected` says; at most `MAX_ERRORS` and one that counts the rest. */
  readonly errors: readonly FieldError[];
}

/**
 * An agent's metadata: what its values may be. Values are plain data and stay with the caller. A field that is not set
 * and has no default is absent; on the log, where there must be a value, that is `null`.
 */
export interface Metadata {
  /** The names of the fields that are enums. */
  readonly states: readonly string[];
  /** The values at the start: defaults, and what was kept of the agent's last run where it still fits. */
  initial(kept?: JsonObject): { readonly values: JsonObject; readonly dropped: readonly FieldError[] };
  /** What comes of an update: of a model's `<metadata>`, a workflow's `set_metadata`, the API. Fields left out stay. */
  apply(current: Readonly<Record<string, Json>>, update: JsonObject): MetadataUpdate;
  /** All fields back to their defaults but the sticky ones, which keep their values. */
  reset(current: Readonly<Record<string, Json>>): MetadataChanges;
}

/** Errors of one update that are told one by one: an update of a megabyte may have a hundred thousand. */
export const MAX_ERRORS = 32;

interface Compiled {
  readonly field: MetadataField;
  readonly check: FieldCheck;
}

/** Compiles patterns and schemas, once for an agent. Throws for fields that no checked manifest has. */
export function createMetadata(manifest: MetadataMetadataManifest): Metadata {
  const { limits } = manifest;
  const fields = new Map<string, Compiled>(
    Object.entries(manifest.fields).map(([name, field]) => [
      name,
      { field, check: compileField(name, field) },
    ]),
  );
  const depth = Math.min(limits.depth, MAX_DEPTH);
  const maxBytes = limits.bytes.bytes;

  const judge = ({ check }: Compiled, value: Json): MetadataViolation | undefined =>
    isDeeperThan(value, depth)
      ? { code: 'too_deep', message: `It is nested more than ${depth} deep.` }
      : check(value);

  /** The value that the field would have, or why it may not. */
  const next = (compiled: Compiled, old: Json, sent: Json): { readonly to: Json } | MetadataViolation => {
    const { field } = compiled;
    if (sent === null) return { to: field.default ?? null };
    const merges = field.type === 'object' && field.merge === 'deep' && isPlainObject(sent);
    if (merges && isDeeperThan(sent, depth)) return judge(compiled, sent) as MetadataViolation;
    const to = merges ? mergePatch(old, sent as JsonObject) : sent;
    return judge(compiled, to) ?? { to };
  };

  const bytesOf = (values: ReadonlyMap<string, Json>) => {
    let bytes = 0;
    for (const value of values.values()) bytes += byteSize(value);
    return bytes;
  };

  const declaredValues = (current: Readonly<Record<string, Json>>) => {
    const values = new Map<string, Json>();
    for (const name of fields.keys())
      if (Object.hasOwn(current, name)) values.set(name, current[name] ?? null);
    return values;
  };

  return {
    states: [...fields].flatMap(([name, { field }]) => (field.type === 'enum' ? [name] : [])),
    initial(kept = {}) {
      const values = new Map<string, Json>();
      const defaults = new Map<string, Json>();
      const dropped: FieldError[] = [];
      for (const [name, compiled] of fields) {
        const { default: start } = compiled.field;
        if (start !== undefined && start !== null) defaults.set(name, start);
        const old = Object.hasOwn(kept, name) ? (kept[name] ?? null) : null;
        const wrong = old === null ? undefined : judge(compiled, old);
        if (wrong !== undefined) dropped.push(fieldError(name, old, wrong, describeField(compiled.field)));
        const value = old === null || wrong !== undefined ? start : old;
        if (value !== undefined && value !== null) values.set(name, value);
      }
      if (bytesOf(values) <= maxBytes) return { values: Object.fromEntries(values), dropped };
      for (const [name, value] of values)
        if (value !== defaults.get(name))
          dropped.push(fieldError(name, value, tooLarge(maxBytes), sizeAllowed(maxBytes)));
      return { values: Object.fromEntries(defaults), dropped };
    },

    apply(current, update) {
      const errors: FieldError[] = [];
      let unsaid = 0;
      const reject = (make: () => FieldError) => {
        if (errors.length < MAX_ERRORS) errors.push(make());
        else unsaid++;
      };
      const values = declaredValues(current);
      const changes = new Map<string, { readonly from: Json; readonly to: Json }>();
      const same: string[] = [];
      for (const [name, sent] of Object.entries(update)) {
        const compiled = fields.get(name);
        if (compiled === undefined) {
          reject(() => undeclared(name, sent, [...fields.keys()]));
          continue;
        }
        const from = values.get(name) ?? null;
        const outcome = next(compiled, from, sent);
        if (!('to' in outcome)) reject(() => fieldError(name, sent, outcome, describeField(compiled.field)));
        else if (deepEqual(from, outcome.to)) same.push(name);
        else changes.set(name, { from, to: outcome.to });
      }
      // Over the limit, what grows is refused and what shrinks goes through: so the order of fields does not matter.
      for (const [name, { to }] of changes) values.set(name, to);
      if (changes.size > 0 && bytesOf(values) > maxBytes)
        for (const [name, { from, to }] of changes)
          if (byteSize(to) > byteSize(from)) {
            changes.delete(name);
            const sent = update[name] as Json;
            reject(() => fieldError(name, sent, tooLarge(maxBytes), sizeAllowed(maxBytes)));
          }
      if (unsaid > 0) errors.push(moreErrors(unsaid));
      if (errors.length > 0 && manifest.on_invalid === 'all') return { changes: {}, same: [], errors };
      return { changes: Object.fromEntries(changes), same, errors };
    },

    reset(current) {
      const changes = new Map<string, { readonly from: Json; readonly to: Json }>();
      const values = declaredValues(current);
      for (const [name, { field }] of fields) {
        const from = values.get(name) ?? null;
        const to = field.default ?? null;
        if (!field.sticky && !deepEqual(from, to)) changes.set(name, { from, to });
      }
      return Object.fromEntries(changes);
    },
  };
}

const tooLarge = (bytes: number): MetadataViolation => ({
  code: 'too_large',
  message: `With it all values together would have more than ${bytes} bytes.`,
});

const sizeAllowed = (bytes: number) => `${bytes} bytes for all fields together, as JSON`;

/** RFC 7396: objects are merged key by key, `null` removes a key, all else is replaced. Neither value is changed. */
export function mergePatch(target: Json | undefined, patch: JsonObject): JsonObject {
  const merged = new Map(isPlainObject(target) ? Object.entries(target as JsonObject) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isPlainObject(value) ? mergePatch(merged.get(key), value as JsonObject) : value);
  }
  // Defines each key as its own, `__proto__` too.
  return Object.fromEntries(merged);
}

/** Characters of a value that an error quotes. */
const MAX_SENT = 200;
const MAX_SENT_DEPTH = 16;
const MAX_FIELD_NAME = 100;
const MAX_NAMES_LISTED = 32;

const fieldError = (
  field: string,
  sent: Json,
  { code, message }: MetadataViolation,
  allowed: string,
): FieldError => ({
  field: clip(field, MAX_FIELD_NAME),
  code,
  sent: cutValue(sent),
  message,
  allowed,
});

function undeclared(field: string, sent: Json, known: readonly string[]): FieldError {
  const near = nearest(field, known);
  const listed = known.slice(0, MAX_NAMES_LISTED).join(', ');
  return fieldError(
    field,
    sent,
    {
      code: 'undeclared',
      message: `There is no such field.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    },
    known.length === 0
      ? 'no fields at all'
      : `the fields ${listed}${known.length > MAX_NAMES_LISTED ? ', …' : ''}`,
  );
}

const moreErrors = (count: number): FieldError => ({
  field: '…',
  code: 'more_errors',
  sent: null,
  message: `${count} more fields of this update were rejected.`,
  allowed: 'the declared fields, each with a value that it takes',
});

/** The value itself where it is small, else the beginning of it as text. */
function cutValue(value: Json): Json {
  if (typeof value === 'string') return clip(value, MAX_SENT);
  if (isDeeperThan(value, MAX_SENT_DEPTH)) return Array.isArray(value) ? 'a deep list' : 'a deep object';
  const text = JSON.stringify(value);
  return text.length <= MAX_SENT ? value : clip(text, MAX_SENT);
}

export type FieldErrorCode =
  | 'undeclared'
  | 'wrong_type'
  | 'not_allowed'
  | 'too_long'
  | 'no_match'
  | 'below_min'
  | 'above_max'
  | 'not_whole'
  | 'bad_shape'
  | 'too_many_items'
  | 'too_deep'
  | 'too_large'
  | 'more_errors';

/** Why a value does not satisfy its field. */
export interface MetadataViolation {
  readonly code: FieldErrorCode;
  readonly message: string;
}

/** The first thing wrong with a value, or undefined if it satisfies the field. Values are at most `MAX_DEPTH` deep. */
export type FieldCheck = (value: Json) => MetadataViolation | undefined;

const violation = (code: FieldErrorCode, message: string): MetadataViolation => ({ code, message });

/** Makes a field ready to judge any number of values: its pattern and its schema are compiled here, once. */
export function compileField(name: string, field: MetadataField): FieldCheck {
  switch (field.type) {
    case 'enum':
      return enumCheck(field.values);
    case 'string':
      return stringCheck(name, field.max_length, field.pattern);
    case 'number':
      return numberCheck(field);
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? undefined : wrongType(value, 'true or false'));
    case 'object':
      return objectCheck(name, field.schema);
    case 'array':
      return arrayCheck(name, field.items, field.max_items);
  }
}

function wrongType(value: Json, wanted: string): MetadataViolation {
  return violation('wrong_type', `It is ${typeName(value)}, not ${wanted}.`);
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function enumCheck(values: readonly Json[]): FieldCheck {
  const texts = values.filter((value) => typeof value === 'string');
  return (value) => {
    if (values.includes(value)) return undefined;
    const near = typeof value === 'string' ? nearest(value, texts) : undefined;
    // What an object says of itself as text is the model's to choose.
    const text = typeof value === 'object' ? undefined : String(value);
    const twin = values.find((each) => typeof each !== typeof value && String(each) === text);
    if (near !== undefined)
      return violation('not_allowed', `It is none of the values. Did you mean "${near}"?`);
    return twin === undefined
      ? violation('not_allowed', 'It is none of the values.')
      : violation('not_allowed', `It is ${typeName(value)}; the value ${String(twin)} is ${typeName(twin)}.`);
  };
}

function stringCheck(name: string, max: number | undefined, source: string | undefined): FieldCheck {
  const compiled = source === undefined ? undefined : compilePattern(source);
  if (compiled?.ok === false) throw brokenField(name, compiled.error.message);
  const pattern = compiled?.value;
  return (value) => {
    if (typeof value !== 'string') return wrongType(value, 'a string');
    if (max !== undefined && value.length > max)
      return violation('too_long', `It has ${value.length} characters; ${max} are allowed.`);
    if (pattern === undefined || pattern.test(value)) return undefined;
    return value.length > pattern.maxLength
      ? violation(
          'too_long',
          `It has ${value.length} characters; its pattern is tried on ${pattern.maxLength}.`,
        )
      : violation('no_match', `/${pattern.source}/ is not found in it.`);
  };
}

function numberCheck({ min, max, integer }: Extract<MetadataField, { type: 'number' }>): FieldCheck {
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return wrongType(value, 'a number');
    if (min !== undefined && value < min) return violation('below_min', `${value} is below ${min}.`);
    if (max !== undefined && value > max) return violation('above_max', `${value} is above ${max}.`);
    return integer && !Number.isInteger(value)
      ? violation('not_whole', `${value} is no whole number.`)
      : undefined;
  };
}

function objectCheck(name: string, schema: Readonly<Record<string, unknown>> | undefined): FieldCheck {
  const compiled = schema === undefined ? undefined : compileUserSchema(schema);
  if (compiled?.ok === false) throw brokenField(name, compiled.error[0]?.message ?? 'its schema is broken');
  const why = compiled?.value;
  return (value) => {
    if (!isPlainObject(value)) return wrongType(value, 'an object');
    const found = why?.(value as Json);
    return found === undefined ? undefined : violation('bad_shape', `In the JSON Schema's words: ${found}.`);
  };
}

function arrayCheck(name: string, items: MetadataField | undefined, max: number | undefined): FieldCheck {
  const check = items === undefined ? undefined : compileField(name, items);
  return (value) => {
    if (!Array.isArray(value)) return wrongType(value, 'a list');
    if (max !== undefined && value.length > max)
      return violation('too_many_items', `It has ${value.length} items; ${max} are allowed.`);
    if (check === undefined) return undefined;
    for (const [index, item] of (value as readonly Json[]).entries()) {
      const found = check(item);
      if (found !== undefined) return violation(found.code, `Item ${index}: ${found.message}`);
    }
    return undefined;
  };
}

const brokenField = (name: string, why: string) =>
  new RuntimeError('bad_metadata_field', `The metadata field "${name}" cannot be used: ${why}`, {
    hint: 'Check the manifest with `telltale validate` before running it.',
  });

/** No value is deeper, whatever the manifest says: what compares, merges and writes values walks down them. */
const MAX_DEPTH = 64;

/** Whether lists and objects stand in each other more than `limit` deep. Ends at the limit, however deep the value is. */
export function isDeeperThan(value: Json, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit <= 0) return true;
  for (const item of Array.isArray(value) ? value : Object.values(value))
    if (isDeeperThan(item as Json, limit - 1)) return true;
  return false;
}

/** The size of a value as JSON in UTF-8; of `null`, which is a field that is not set, none. */
export function byteSize(value: Json): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value));
}
