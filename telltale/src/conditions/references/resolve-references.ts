import type { Json } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { asText } from '../as-text.ts';
import type { Issue, PathSegment } from '../issue.ts';
import { readPath } from '../own-property.ts';
import { type Reference, readWholeReference } from './reference.ts';
import { parseReferences } from './reference-reader.ts';

/** The value a name stands for; undefined where there is none. Called with names only: paths are followed here. */
export type Lookup = (name: string) => Json | undefined;

/** A reference that names nothing, and where in the value it stands. */
export interface UnknownReference extends Reference {
  readonly at: readonly PathSegment[];
}

export interface ResolvedReferences {
  readonly value: Json;
  /** What stayed as it is written. */
  readonly unknown: readonly UnknownReference[];
}

/** Nesting of parameters. */
const MAX_PARAMETER_DEPTH = 64;
/** Characters of a string that references were put into. */
const MAX_RESOLVED_LENGTH = 8_388_608;
/** Characters that all references of one value put in together: a list of a thousand `$report` is soon written. */
const MAX_PUT_IN = 33_554_432;

export type ReferenceCode = 'too_deep' | 'too_large';

/**
 * `value` with the references in its strings resolved. A string that is one reference takes the value with its type;
 * inside a longer one, objects become compact JSON. Keys are left alone, and so is what was put in.
 */
export function resolveReferences(
  value: Json,
  lookup: Lookup,
): Result<ResolvedReferences, Issue<ReferenceCode>> {
  const unknown: UnknownReference[] = [];
  const sizes = new Map<object, number>();
  let issue: Issue<ReferenceCode> | undefined;
  let putIn = 0;

  /** Whether there is room for one more mention of a value. */
  const hasRoom = (put: Json, path: readonly PathSegment[]): boolean => {
    putIn += sizeOf(put, sizes);
    if (putIn > MAX_PUT_IN) issue = tooMuch(path);
    return putIn <= MAX_PUT_IN;
  };

  const visit = (at: Json, path: readonly PathSegment[]): Json => {
    if (issue !== undefined) return at;
    if (typeof at === 'string') return at.includes('$') ? resolveText(at, path) : at;
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
    const found = whole === undefined ? undefined : resolveReference(whole, lookup);
    if (found !== undefined && found.rest === '') return hasRoom(found.value, path) ? found.value : text;
    let resolved = '';
    for (const piece of parseReferences(text)) {
      if (piece.kind === 'text') resolved += piece.text;
      else if (piece.kind === 'dollar') resolved += '$';
      else {
        const known = resolveReference(piece, lookup);
        if (known === undefined)
          unknown.push({ name: piece.name, path: piece.path, source: piece.source, at: path });
        else if (!hasRoom(known.value, path)) return text;
        resolved += known === undefined ? piece.source : asText(known.value) + known.rest;
      }
      if (resolved.length > MAX_RESOLVED_LENGTH) {
        issue = tooLarge(path);
        return text;
      }
    }
    return resolved;
  };

  const resolved = visit(value, []);
  return issue === undefined ? ok({ value: resolved, unknown }) : err(issue);
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

export interface ResolvedReference {
  readonly value: Json;
  /** What of `source` turned out to be text: `-1` of `$count-1` where `count` is known and `count-1` is not. */
  readonly rest: string;
}

/**
 * What `reference` stands for, or undefined. Ids may have hyphens in them, and prose puts hyphens behind names, so the
 * longest reading that is known counts.
 */
function resolveReference(reference: Reference, lookup: Lookup): ResolvedReference | undefined {
  const { source } = reference;
  for (let end = source.length; end > 0; end = source.lastIndexOf('-', end - 1)) {
    const shorter = end === source.length ? reference : readWholeReference(source.slice(0, end));
    const root = shorter === undefined ? undefined : lookup(shorter.name);
    const value = shorter === undefined || root === undefined ? undefined : readPath(root, shorter.path);
    if (value !== undefined) return { value: value as Json, rest: source.slice(end) };
  }
  return undefined;
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

/** Every reference in the strings of `value`: what an action with these parameters has to wait for. */
export function referencesIn(value: Json): readonly Reference[] {
  const found: Reference[] = [];
  collect(value, 0, found);
  return found;
}

function collect(value: Json, depth: number, found: Reference[]): void {
  if (typeof value === 'string') {
    if (value.includes('$'))
      for (const piece of parseReferences(value)) if (piece.kind === 'reference') found.push(piece);
  } else if (typeof value === 'object' && value !== null && depth < MAX_PARAMETER_DEPTH)
    for (const key in value)
      collect((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1, found);
}

const tooDeep = (path: readonly PathSegment[]): Issue<ReferenceCode> => ({
  code: 'too_deep',
  message: `The parameters are nested more than ${MAX_PARAMETER_DEPTH} deep.`,
  hint: 'Pass a flatter value.',
  path,
});

const tooLarge = (path: readonly PathSegment[]): Issue<ReferenceCode> => ({
  code: 'too_large',
  message: `A string has more than ${MAX_RESOLVED_LENGTH} characters after its references were resolved.`,
  hint: 'Refer to a part of the value.',
  path,
});

const tooMuch = (path: readonly PathSegment[]): Issue<ReferenceCode> => ({
  code: 'too_large',
  message: `The references of these parameters put in more than ${MAX_PUT_IN} characters.`,
  hint: 'Refer to parts of the values, and to each once.',
  path,
});
