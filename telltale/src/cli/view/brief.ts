import type { Json } from '../../kernel/json.ts';
import { clip } from './columns.ts';
import { harmlessLine } from './harmless.ts';

/** Code units that are looked at for each column of a brief text: blanks and escape sequences vanish. */
const UNITS_A_COLUMN = 4;

/**
 * A value on one line of at most `columns`: text as it is, anything else as JSON. Costs no more for a huge value than
 * for a short one.
 */
export function brief(value: Json, columns: number): string {
  const units = columns * UNITS_A_COLUMN;
  const text = typeof value === 'string' ? value.slice(0, units) : jsonUpTo(value, units);
  const line = harmlessLine(text);
  const isCut = typeof value === 'string' && value.length > units;
  return clip(isCut && line.length < columns ? `${line}…` : line, columns);
}

/** The fields of an object as `name=value`, on one line. */
export function briefFields(fields: { readonly [name: string]: Json }, columns: number): string {
  const parts: string[] = [];
  let length = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (length > columns) break;
    const part = `${brief(name, columns)}=${typeof value === 'string' ? quote(value, columns) : brief(value, columns)}`;
    parts.push(part);
    length += part.length + 1;
  }
  return clip(parts.join(' '), columns);
}

const quote = (text: string, columns: number): string =>
  /^[\w./:@%+,-]+$/.test(text) ? brief(text, columns) : `"${brief(text, columns)}"`;

/** JSON that stops soon after `units`: every level and every value costs at least one. */
function jsonUpTo(value: Json, units: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, Math.max(1, units)));
  if (value === null || typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const key in value) {
    const left = units - text.length;
    if (left <= 0) return `${text}…`;
    const each = (value as Readonly<Record<string, Json>>)[key] as Json;
    text += text.length === 1 ? '' : ',';
    text += isList ? jsonUpTo(each, left) : `${jsonUpTo(key, left)}:${jsonUpTo(each, left - 1)}`;
  }
  return text + (isList ? ']' : '}');
}
