import type { z } from 'zod';
import { likeliest, nearest } from '../../lib/nearest.ts';
import type { Issue, IssuePath } from '../diagnostic.ts';
import { placeOf } from './closed.ts';
import { isMap } from './plain-values.ts';
import { clip, orList, showValue } from './show-value.ts';
import type { ValuesFinding } from './values.ts';

type Raw = z.core.$ZodRawIssue;

const MAX_LISTED = 40;
/** How many other names are listed after the most similar one. */
const MAX_LISTED_BEHIND_NEAREST = 10;
/** How many unknown keys of one map are examined. A map with more is no manifest. */
const MAX_UNKNOWN_KEYS = 50;

/** Translates zod's raw issue, which knows its schema, into one or more issues in the user's words. */
export function translateIssue(raw: Raw): readonly Issue[] {
  const path = (raw.path ?? []).map((part) => (typeof part === 'symbol' ? String(part) : part));
  switch (raw.code) {
    case 'custom':
      return [fromFinding(raw.params as ValuesFinding | undefined, path, raw.input)];
    case 'unrecognized_keys':
      return unknownKeys(raw.keys as readonly string[], raw, path);
    case 'invalid_key':
      return [badKey(String(path.at(-1)), raw, path)];
    default:
      return raw.input === undefined ? [missing(path)] : [badValue(raw, path)];
  }
}

function fromFinding(found: ValuesFinding | undefined, path: IssuePath, input: unknown): Issue {
  if (found === undefined) return error('wrong_type', path, `${label(path)} cannot be ${showValue(input)}.`);
  const at = found.at ?? (found.code === 'missing' ? pointAt(path) : 'value');
  return {
    severity: found.severity ?? 'error',
    code: found.code,
    path,
    at,
    message: found.message,
    ...(found.hint === undefined ? {} : { hint: found.hint }),
    ...(found.offset === undefined ? {} : { offset: found.offset }),
  };
}

function unknownKeys(keys: readonly string[], raw: Raw, path: IssuePath): readonly Issue[] {
  const place = placeOf(raw.inst);
  const shape: Readonly<Record<string, z.core.$ZodType>> =
    (raw.inst as Partial<z.core.$ZodObject> | undefined)?._zod?.def.shape ?? {};
  const known = Object.keys(shape);
  const given = isMap(raw.input) ? raw.input : {};
  const absent = known.filter((name) => name !== '$schema' && !Object.hasOwn(given, name));
  /** Between two equally similar names, prefer the required one. */
  const isRequired = (name: string) => shape[name]?._zod.optin === undefined;
  const wanted = [...absent.filter(isRequired), ...absent.filter((name) => !isRequired(name))];
  const issues = keys.slice(0, MAX_UNKNOWN_KEYS).map((key): Issue => {
    const near = nearest(key, wanted) ?? nearest(key, known) ?? likeliest(key, wanted);
    const slip = place?.slips !== undefined && Object.hasOwn(place.slips, key) ? place.slips[key] : undefined;
    const allowed = near === undefined ? list(known) : list(absent, MAX_LISTED_BEHIND_NEAREST);
    const hint = slip ?? `${near === undefined ? '' : `Did you mean "${near}"? `}Allowed here: ${allowed}`;
    const message = unknownKey(clip(key), place?.title ?? 'this map');
    return { severity: 'error', code: 'unknown_key', path: [...path, key], at: 'key', message, hint };
  });
  const hidden = keys.length - issues.length;
  return hidden === 0 ? issues : [...issues, moreUnknownKeys(hidden, path)];
}

/** `Unknown key "modle" in Agent.` The name of a kind needs no article. */
export const unknownKey = (key: string, title: string): string =>
  `Unknown key "${key}" in ${title.replace(/^A(?=n? )/, 'a').replace(/^an? (?=[A-Z])/, '')}.`;

/** The number of omitted issues is always reported. */
const moreUnknownKeys = (hidden: number, path: IssuePath): Issue => ({
  severity: 'warning',
  code: 'more_issues',
  path,
  at: 'value',
  message: `${hidden} more unknown ${hidden === 1 ? 'key is' : 'keys are'} not shown.`,
  hint: 'Fix the ones above and check again.',
});

/** Issues inside a key no longer know the key's schema. The map's own issue does. */
function badKey(key: string, raw: Raw, path: IssuePath): Issue {
  const keyType = (raw.inst as Partial<z.core.$ZodRecord> | undefined)?._zod?.def.keyType;
  const expects = metaOf(keyType)?.expects;
  return {
    severity: 'error',
    code: 'bad_name',
    path,
    at: 'key',
    message: `"${clip(key)}" cannot be a name here.`,
    hint: `Write ${typeof expects === 'string' ? expects : 'another name'}.`,
  };
}

/** The path ends at the node that lacks the key, because the key is not in the document. */
function missing(path: IssuePath): Issue {
  const holder = path.slice(0, -1);
  const key = path.at(-1);
  return {
    ...error('missing', holder, `${label(holder)} needs "${key ?? 'a value'}".`),
    at: pointAt(holder),
  };
}

function badValue(raw: Raw, path: IssuePath): Issue {
  const shown = showValue(raw.input);
  const values = raw.code === 'invalid_value' ? (raw.values as readonly unknown[]) : undefined;
  if (values !== undefined) {
    const names = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    const near = typeof raw.input === 'string' ? likeliest(raw.input, names) : undefined;
    const hint = `${near === undefined ? '' : `Did you mean "${near}"? `}Allowed: ${list(names)}`;
    return error('not_allowed', path, `${label(path)} cannot be ${shown}.`, hint);
  }
  const wanted = expected(raw) ?? zodWords(raw);
  const code = raw.code === 'invalid_type' || raw.code === 'invalid_union' ? 'wrong_type' : 'not_allowed';
  return error(code, path, `${label(path)} cannot be ${shown}.`, `Write ${wanted}.`);
}

/** What the schema of the issue says it expects (`.meta({ expects })`). */
function expected(raw: Raw): string | undefined {
  for (const schema of [raw.schema, raw.inst]) {
    const expects = metaOf(schema)?.expects;
    if (typeof expects === 'string') return expects;
  }
  return undefined;
}

const metaOf = (schema: unknown): Record<string, unknown> | undefined =>
  (schema as { meta?: () => Record<string, unknown> | undefined } | undefined)?.meta?.();

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  record: 'a map',
  null: 'null',
};

function zodWords(raw: Raw): string {
  if (raw.code === 'invalid_type') {
    if (raw.expected === 'array') return `a list${asEntry(raw.input)}`;
    if (raw.expected === 'object') return `a map${keysOf(raw.inst)}`;
    return WORDS[String(raw.expected)] ?? String(raw.expected);
  }
  if (raw.code === 'invalid_union') {
    const branches = raw.errors as readonly (readonly Raw[])[];
    const words = branches.flatMap((issues) => issues.slice(0, 1).map(zodWords));
    return orList([...new Set(words)]);
  }
  if (raw.code === 'too_small')
    return raw.origin === 'array' ? `a list of at least ${raw.minimum}` : `at least ${raw.minimum}`;
  if (raw.code === 'too_big')
    return raw.origin === 'array' ? `a list of at most ${raw.maximum}` : `at most ${raw.maximum}`;
  return 'another value';
}

/** A single text is usually meant as the only entry of the list. */
function asEntry(input: unknown): string {
  if (typeof input !== 'string' || !PLAIN_ENTRY.test(input)) return '';
  return `: [${input}]`;
}

/** A text that can be a list entry without quotes: it is no number, word of YAML or reference. */
const PLAIN_ENTRY = /^(?!(?:true|false|null)$)[A-Za-z./][\w./*:-]{0,59}$/;

/** The known keys of a map, for a message. */
function keysOf(schema: unknown): string {
  if (placeOf(schema) === undefined) return '';
  const { shape } = (schema as z.core.$ZodObject)._zod.def;
  const known = Object.keys(shape).filter((name) => name !== '$schema');
  return ` with ${list(known, MAX_LISTED_BEHIND_NEAREST).replace(/\.$/, '')}`;
}

/** Ends with a full stop. */
function list(names: readonly string[], most = MAX_LISTED): string {
  if (names.length === 0) return 'nothing else.';
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown}, …` : `${shown}.`;
}

/** The name of the value at a path, for a message. */
function label(path: IssuePath): string {
  const last = path.at(-1);
  if (last === undefined) return 'The document';
  if (typeof last === 'string') return `"${clip(last)}"`;
  const holder = path.findLast((part) => typeof part === 'string');
  return `Entry ${last + 1}${holder === undefined ? '' : ` of "${holder}"`}`;
}

const pointAt = (path: IssuePath): 'key' | 'value' => (typeof path.at(-1) === 'string' ? 'key' : 'value');

const error = (code: string, path: IssuePath, message: string, hint?: string): Issue => ({
  severity: 'error',
  code,
  path,
  at: 'value',
  message,
  ...(hint === undefined ? {} : { hint }),
});
