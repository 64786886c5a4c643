import type { Json } from '../../kernel/json.ts';
import type { Issue } from '../issue.ts';
import { showValue } from './show-value.ts';

export const MAX_DOCUMENT_DEPTH = 64;
export const MAX_DOCUMENT_NODES = 20_000;

interface Copy {
  nodes: number;
  readonly issues: Issue[];
}

/**
 * A plain copy of whatever was handed in, and what in it is not JSON. Schemas see only the copy: bounded in depth
 * and size, without cycles, getters, foreign prototypes or a `__proto__` key.
 */
export function plainDocument(value: unknown): {
  readonly document: Json;
  readonly issues: readonly Issue[];
} {
  const copy: Copy = { nodes: 0, issues: [] };
  try {
    return { document: plain(value, [], copy) ?? null, issues: copy.issues };
  } catch (thrown) {
    // Only a getter or a proxy of the caller's can throw here: no document that was read from a file has one.
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
