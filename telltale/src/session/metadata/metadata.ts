import { deepEqual } from '../../conditions/deep-equal.ts';
import { isPlainObject } from '../../conditions/own-property.ts';
import type { FieldError } from '../../events/value-event.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { describeField } from '../../prompt/describe-field.ts';
import { compileField, type FieldCheck, type Violation } from './field-check.ts';
import { fieldError, moreErrors, undeclared } from './field-errors.ts';
import { mergePatch } from './merge-patch.ts';
import { byteSize, isDeeperThan, MAX_DEPTH } from './value-size.ts';

export type MetadataManifest = AgentManifest['metadata'];

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
export function createMetadata(manifest: MetadataManifest): Metadata {
  const { limits } = manifest;
  const fields = new Map<string, Compiled>(
    Object.entries(manifest.fields).map(([name, field]) => [
      name,
      { field, check: compileField(name, field) },
    ]),
  );
  const depth = Math.min(limits.depth, MAX_DEPTH);
  const maxBytes = limits.bytes.bytes;

  const judge = ({ check }: Compiled, value: Json): Violation | undefined =>
    isDeeperThan(value, depth)
      ? { code: 'too_deep', message: `It is nested more than ${depth} deep.` }
      : check(value);

  /** The value that the field would have, or why it may not. */
  const next = (compiled: Compiled, old: Json, sent: Json): { readonly to: Json } | Violation => {
    const { field } = compiled;
    if (sent === null) return { to: field.default ?? null };
    const merges = field.type === 'object' && field.merge === 'deep' && isPlainObject(sent);
    if (merges && isDeeperThan(sent, depth)) return judge(compiled, sent) as Violation;
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

const tooLarge = (bytes: number): Violation => ({
  code: 'too_large',
  message: `With it all values together would have more than ${bytes} bytes.`,
});

const sizeAllowed = (bytes: number) => `${bytes} bytes for all fields together, as JSON`;
