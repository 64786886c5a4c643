import { err, ok, type Result } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { ConditionConditionIssue, PathSegment } from '../issue.ts';
import { asText, readPath } from '../values.ts';
import { type Reference, readInsertions, readWholeReference } from './reference.ts';

/** The value a name stands for; undefined where there is none. Called with names only: paths are followed here. */
export type Lookup = (name: string) => Json | undefined;

export interface Lookups {
  /** For `$name`, where it is the whole string. */
  readonly whole: Lookup;
  /** For `{{name}}` inside a text. */
  readonly inserted: Lookup;
}

/** A reference in parameters. */
export interface ParameterReference extends Reference {
  /** Whether it is `$name`, the whole string, and not `{{name}}`. */
  readonly whole: boolean;
}

/** A whole reference that names nothing, and where in the value it stands. */
export interface UnknownReference extends Reference {
  readonly at: readonly PathSegment[];
}

export interface ResolvedReferences {
  readonly value: Json;
  /** The whole references that stayed as they are written. */
  readonly unknown: readonly UnknownReference[];
}

/** Nesting of parameters. */
const MAX_PARAMETER_DEPTH = 64;
/** Characters of a string that values were inserted into. */
const MAX_RESOLVED_LENGTH = 8_388_608;
/** Characters that all references of one value insert together: a list of a thousand `$report` is soon written. */
const MAX_INSERTED = 33_554_432;

export type ReferenceCode = 'too_deep' | 'too_large';

/**
 * `value` with the references in its strings resolved. A string that is one `$name` takes the value with its type. In any
 * other string each `{{name}}` that is known becomes text, objects as compact JSON, and every other character stays as it
 * is. Keys are left alone, and what was inserted is not searched again.
 */
export function resolveReferences(
  value: Json,
  lookups: Lookups,
): Result<ResolvedReferences, ConditionConditionIssue<ReferenceCode>> {
  const unknown: UnknownReference[] = [];
  const sizes = new Map<object, number>();
  let issue: ConditionConditionIssue<ReferenceCode> | undefined;
  let inserted = 0;

  /** Whether there is room for one more mention of a value. */
  const hasRoom = (put: Json, path: readonly PathSegment[]): boolean => {
    inserted += sizeOf(put, sizes);
    if (inserted > MAX_INSERTED) issue = tooMuch(path);
    return inserted <= MAX_INSERTED;
  };

  const visit = (at: Json, path: readonly PathSegment[]): Json => {
    if (issue !== undefined) return at;
    if (typeof at === 'string') return resolveText(at, path);
    if (typeof at !== 'object' || at === null) return at;
    if (path.length === MAX_PARAMETER_DEPTH) {
      issue = tooDeep(path);
      return at;
    }
    if (isList(at)) return at.map((item, i) => visit(item, [...path, i]));
    return Object.fromEntries(Object.entries(at).map(([key, item]) => [key, visit(item, [...path, key])]));
  };

  const resolveText = (text: string, path: readonly PathSegment[]): Json => {
    const whole = readWholeReference(text);
    if (whole === undefined) return text.includes('{{') ? insertInto(text, path) : text;
    const value = valueAt(whole, lookups.whole);
    if (value === undefined) unknown.push({ ...whole, at: path });
    return value !== undefined && hasRoom(value, path) ? value : text;
  };

  const insertInto = (text: string, path: readonly PathSegment[]): string => {
    let resolved = '';
    let from = 0;
    for (const insertion of readInsertions(text)) {
      const value = valueAt(insertion, lookups.inserted);
      if (value === undefined) continue;
      if (!hasRoom(value, path)) return text;
      resolved += text.slice(from, insertion.at) + asText(value);
      from = insertion.at + insertion.source.length;
      if (resolved.length > MAX_RESOLVED_LENGTH) {
        issue = tooLarge(path);
        return text;
      }
    }
    return resolved + text.slice(from);
  };

  const resolved = visit(value, []);
  return issue === undefined ? ok({ value: resolved, unknown }) : err(issue);
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

function valueAt({ name, path }: Reference, lookup: Lookup): Json | undefined {
  const root = lookup(name);
  return root === undefined ? undefined : (readPath(root, path) as Json | undefined);
}

/** An object is measured when it is mentioned for the second time: most are mentioned once, and that takes no room. */
function sizeOf(value: Json, sizes: Map<object, number>): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  const size = known === 0 ? asText(value).length : (known ?? 0);
  sizes.set(value, size);
  return size;
}

/** Every reference in the strings of `value`: what an action with these parameters may have to wait for. */
export function referencesInParameters(value: Json): readonly ParameterReference[] {
  const found: ParameterReference[] = [];
  collect(value, 0, found);
  return found;
}

function collect(value: Json, depth: number, found: ParameterReference[]): void {
  if (typeof value === 'string') {
    const whole = readWholeReference(value);
    if (whole !== undefined) found.push({ ...whole, whole: true });
    else if (value.includes('{{'))
      for (const { name, path, source } of readInsertions(value))
        found.push({ name, path, source, whole: false });
  } else if (typeof value === 'object' && value !== null && depth < MAX_PARAMETER_DEPTH)
    for (const key in value)
      collect((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1, found);
}

const tooDeep = (path: readonly PathSegment[]): ConditionConditionIssue<ReferenceCode> => ({
  code: 'too_deep',
  message: `The parameters are nested more than ${MAX_PARAMETER_DEPTH} deep.`,
  hint: 'Pass a flatter value.',
  path,
});

const tooLarge = (path: readonly PathSegment[]): ConditionConditionIssue<ReferenceCode> => ({
  code: 'too_large',
  message: `A string has more than ${MAX_RESOLVED_LENGTH} characters after its references were resolved.`,
  hint: 'Refer to a part of the value.',
  path,
});

const tooMuch = (path: readonly PathSegment[]): ConditionConditionIssue<ReferenceCode> => ({
  code: 'too_large',
  message: `The references of these parameters insert more than ${MAX_INSERTED} characters.`,
  hint: 'Refer to parts of the values, and to each once.',
  path,
});
