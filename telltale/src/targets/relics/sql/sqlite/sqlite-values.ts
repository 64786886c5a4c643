import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { Json } from '../../../../kernel/json.ts';

/**
 * A whole number is bound as one: as a double it would be 5.0 in a text. SQLite has no booleans and no lists: 1 and 0,
 * and JSON, which its json functions read.
 */
export function toSqlite(value: Json): SQLInputValue {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  return JSON.stringify(value);
}

/** Bytes as base64; a whole number beyond 2^53 and a number that JSON does not have as text. */
export function fromSqlite(value: SQLOutputValue): Json {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}
