import type { Json, JsonObject } from '../../../../kernel/json.ts';
import type { SqlStatement } from '../sql-database.ts';
import { badParams } from '../sql-errors.ts';

/** Values as SQLite takes them: for `?` in order, or by the name with its prefix (`:name`, `$1`, `?2`). */
export type Bindings = { readonly places: readonly Json[] } | { readonly names: JsonObject };

/**
 * Texts, quoted names and comments are passed over, and so are words and numbers, which may have a `$` in them; what is
 * left are the placeholders. Each part stands alone, so that a long text costs no more than its length.
 */
const TOKEN =
  /'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[A-Za-z_\x80-\u{10ffff}][\w$\x80-\u{10ffff}]*|\d[\w.]*|(?<placeholder>\?\d*|[:@$][\w$\x80-\u{10ffff}]+)/gu;

/** Pairs the placeholders of a statement with values. SQLite itself would take NULL for what is missing, in silence. */
export function bindParams(what: string, { sql, params }: SqlStatement): Bindings {
  const all = placeholders(sql);
  const places = all.filter((name) => name === '?').length;
  const found = [...new Set(all.filter((name) => name !== '?'))];
  if (places > 0 && found.length > 0)
    throw badParams(
      what,
      `stand for "?" and "${found[0]}" alike`,
      'Use one kind of placeholder in a statement.',
    );
  if (Array.isArray(params)) return byPlace(what, params, places, found);
  return byName(what, params as JsonObject, places, found);
}

export function placeholders(sql: string): readonly string[] {
  return [...sql.matchAll(TOKEN)].flatMap(({ groups }) =>
    groups?.placeholder === undefined ? [] : [groups.placeholder],
  );
}

function byPlace(what: string, params: readonly Json[], places: number, found: readonly string[]): Bindings {
  const named = found.find((name) => !/^[?$]\d+$/.test(name));
  if (named !== undefined)
    throw badParams(
      what,
      `is a list, and the statement has "${named}"`,
      `Give an object: { "${named.slice(1)}": … }.`,
    );
  const wanted = found.length === 0 ? places : Math.max(...found.map((name) => Number(name.slice(1))));
  if (wanted !== params.length)
    throw badParams(
      what,
      `has ${params.length} ${params.length === 1 ? 'value' : 'values'}, and the statement has places for ${wanted}`,
      'Give a value for each "?", in order.',
    );
  if (found.length === 0) return { places: params };
  return {
    names: Object.fromEntries(found.map((name) => [name, params[Number(name.slice(1)) - 1] ?? null])),
  };
}

function byName(what: string, params: JsonObject, places: number, found: readonly string[]): Bindings {
  if (places > 0) throw badParams(what, 'is an object, and the statement has "?"', 'Give a list, in order.');
  const missing = found.find((name) => !Object.hasOwn(params, name.slice(1)));
  if (missing !== undefined)
    throw badParams(
      what,
      `lacks "${missing.slice(1)}", which the statement has as "${missing}"`,
      'Give it; null is a value, too.',
    );
  const odd = Object.keys(params).find((name) => !found.some((each) => each.slice(1) === name));
  if (odd !== undefined)
    throw badParams(what, `has "${odd}", and the statement has no ":${odd}"`, 'Leave it out, or use it.');
  return { names: Object.fromEntries(found.map((name) => [name, params[name.slice(1)] ?? null])) };
}
