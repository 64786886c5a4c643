import type { z } from 'zod';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Issue } from '../diagnostic.ts';
import { showValue } from './show-value.ts';
import { translateIssue } from './translate-issue.ts';

/**
 * What a schema makes of a document, and all that is wrong with it. Zod's raw issues are read, since they still know
 * the schema that raised them; `output` is whole only where there is no error.
 * Without zod's generated code: a schema is used once or twice, and the first use takes 16 ms with it, 8 without.
 */
export function runSchema<S extends z.core.$ZodType>(
  schema: S,
  document: Json,
): { readonly output: z.output<S>; readonly issues: readonly Issue[] } {
  const result = schema._zod.run({ value: document, issues: [] }, { async: false, jitless: true });
  if (result instanceof Promise) throw neverAsync();
  return {
    output: result.value as z.output<S>,
    issues: withoutEchoes(result.issues.flatMap(translateIssue)),
  };
}

/**
 * Zod measures everything that has a length. An empty list in place of a text has the wrong type; that it is also too
 * short is not reported.
 */
function withoutEchoes(issues: readonly Issue[]): readonly Issue[] {
  const place = ({ path }: Issue) => JSON.stringify(path);
  const mistyped = new Set(issues.filter(({ code }) => code === 'wrong_type').map(place));
  return issues.filter((issue) => issue.code !== 'not_allowed' || !mistyped.has(place(issue)));
}

const neverAsync = () =>
  new RuntimeError('internal', 'A manifest schema is asynchronous.', {
    hint: 'Use a schema without async checks.',
  });

export const MAX_DOCUMENT_DEPTH = 64;
export const MAX_DOCUMENT_NODES = 20_000;

interface Copy {
  nodes: number;
  readonly issues: Issue[];
}

/**
 * A plain copy of the input, and the parts of it that are not JSON. Schemas see only the copy, which is bounded in
 * depth and size, without cycles, getters, foreign prototypes or a `__proto__` key.
 */
export function plainDocument(value: unknown): {
  readonly document: Json;
  readonly issues: readonly Issue[];
} {
  const copy: Copy = { nodes: 0, issues: [] };
  try {
    return { document: plain(value, [], copy) ?? null, issues: copy.issues };
  } catch (thrown) {
    // Only a caller's getter or proxy can throw here. A document from a file has none.
    const why = thrown instanceof Error ? thrown.message : String(typeof thrown);
    return { document: null, issues: [issue('not_json', [], `The value cannot be read: ${why}`)] };
  }
}

function plain(value: unknown, path: readonly (string | number)[], copy: Copy): Json | undefined {
  if (++copy.nodes > MAX_DOCUMENT_NODES) {
    if (copy.nodes === MAX_DOCUMENT_NODES + 1)
      copy.issues.push(issue('too_large', path, `The document has more than ${MAX_DOCUMENT_NODES} values.`));
    return undefined;
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : notJson(value, path, copy);
  if (typeof value !== 'object') return value === undefined ? undefined : notJson(value, path, copy);
  if (path.length > MAX_DOCUMENT_DEPTH) {
    copy.issues.push(
      issue('too_deep', path, `The document is nested deeper than ${MAX_DOCUMENT_DEPTH} levels.`),
    );
    return undefined;
  }
  if (Array.isArray(value))
    return Array.from(value, (item, index) => plain(item, [...path, index], copy) ?? null);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return notJson(value, path, copy);
  const map: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__')
      copy.issues.push(issue('not_allowed', [...path, key], 'A key cannot be "__proto__".', 'key'));
    else {
      const copied = plain(item, [...path, key], copy);
      if (copied !== undefined) map[key] = copied;
    }
  }
  return map;
}

function notJson(value: unknown, path: readonly (string | number)[], copy: Copy): undefined {
  const what =
    typeof value === 'object'
      ? 'an object of a class'
      : typeof value === 'number'
        ? showValue(value)
        : `a ${typeof value}`;
  copy.issues.push(issue('not_json', path, `${what} is not a JSON value.`));
  return undefined;
}

const issue = (
  code: string,
  path: readonly (string | number)[],
  message: string,
  at: 'key' | 'value' = 'value',
): Issue => ({
  severity: 'error',
  code,
  path,
  at,
  message,
});

/** The maximum number of issues per document. */
export const MAX_ISSUES = 200;

/**
 * Removes repeated issues, and the issue of a missing key that is present under another name. At the limit, errors take
 * precedence over warnings.
 */
export function orderIssues(issues: readonly Issue[]): readonly Issue[] {
  const misspelt = new Set(
    issues.flatMap((issue) => (issue.code === 'unknown_key' ? misspeltFor(issue) : [])),
  );
  const seen = new Set<string>();
  const kept = issues.filter((issue) => {
    const key = JSON.stringify([issue.path, issue.code, issue.message]);
    if (seen.has(key) || (issue.code === 'missing' && missingFor(issue).some((name) => misspelt.has(name))))
      return false;
    seen.add(key);
    return true;
  });
  if (kept.length <= MAX_ISSUES) return kept.map((issue) => ({ ...issue }));
  const errors = kept
    .filter(({ severity }) => severity === 'error')
    .slice(0, MAX_ISSUES)
    .map((issue) => ({ ...issue }));
  const rest = kept.length - errors.length;
  const more: Issue = {
    severity: 'warning',
    code: 'more_issues',
    path: [],
    at: 'value',
    message: `${rest} more issues are not shown.`,
    hint: 'Fix the issues above first.',
  };
  return [...errors, more];
}

/** The names in a hint's suggestion: `Did you mean "a"?`, `Use "a".`, `Write "a: b" and "c: d".` */
const misspeltFor = (issue: Issue): readonly string[] =>
  [...(issue.hint ?? '').matchAll(/"(\w+)(?:: [^"]*)?"/g)].map(([, name]) =>
    JSON.stringify([issue.path.slice(0, -1), name]),
  );

/** Several if one key of a group is missing: `needs "a" or "b".` */
const missingFor = (issue: Issue): readonly string[] =>
  [
    ...(/ needs ("[^"]+"(?:(?:, | or )"[^"]+")*)\.$/.exec(issue.message)?.[1] ?? '').matchAll(/"([^"]+)"/g),
  ].map(([, name]) => JSON.stringify([issue.path, name]));
