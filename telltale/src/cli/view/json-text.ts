import type { ObservedEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { displayWidth } from '../../manifest/format-diagnostic.ts';
import { clip } from './text-width.ts';

/** How JSON is shown to people: colored, and folded where it is long. */
export interface JsonLook {
  readonly paint: Palette;
  /** What is said behind the number of the rows that are left out: how to see them. */
  readonly more?: string | undefined;
}

/** Rows that are counted beyond those that are shown. */
const MAX_COUNTED = 10_000;

/**
 * A value in rows of at most `columns`, `most` of them: what fits into a row stands in one, the rest is indented below
 * its key. Undefined where the value is none of JSON's.
 */
export function jsonRows(
  value: unknown,
  columns: number,
  most: number,
  look: JsonLook,
): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const rows: string[] = [];
  let count = 0;
  for (const row of rowsOf(value, '', '', '', columns, look.paint)) {
    if (++count <= most) rows.push(row);
    if (count >= MAX_COUNTED + most) break;
  }
  if (count <= most) return rows;
  // The row that says so takes the place of one.
  const left = count - most + 1;
  return [...rows.slice(0, most - 1), look.paint.dim(foldText(left, left >= MAX_COUNTED, look.more))];
}

/** `… 12 more lines: telltale show last --action a1`. */
export const foldText = (left: number, isMore: boolean, how?: string): string =>
  `… ${left.toLocaleString('en')}${isMore ? '+' : ''} more ${left === 1 ? 'line' : 'lines'}${how === undefined ? '' : `: ${how}`}`;

function* rowsOf(
  value: unknown,
  indent: string,
  key: string,
  comma: string,
  columns: number,
  paint: Palette,
): Generator<string> {
  const before = key === '' ? '' : `${harmlessJson(key)}: `;
  const front = indent + (key === '' ? '' : `${paint.cyan(harmlessJson(key))}: `);
  const room = columns - displayWidth(indent + before) - comma.length;
  const text = brieflyUpTo(value, Math.max(0, room));
  if (text !== undefined || typeof value !== 'object' || value === null || indent.length > columns / 2) {
    const whole =
      text ??
      clip(harmlessJson(typeof value === 'string' ? value.slice(0, columns * 2) : value), Math.max(1, room));
    yield front + (text === undefined ? whole : painted(value, paint)) + comma;
    return;
  }
  const isList = Array.isArray(value);
  yield `${front}${isList ? '[' : '{'}`;
  const entries = Object.entries(value);
  for (const [at, [name, each]] of entries.entries()) {
    const end = at < entries.length - 1 ? ',' : '';
    yield* rowsOf(each, `${indent}  `, isList ? '' : name, end, columns, paint);
  }
  yield `${indent}${isList ? ']' : '}'}${comma}`;
}

/** The value on one line, where it fits into so many columns; costs no more for a huge value than for a small one. */
function brieflyUpTo(value: unknown, columns: number): string | undefined {
  if (sizeUpTo(value, columns) > columns) return undefined;
  const text = harmlessJson(value);
  return displayWidth(text) <= columns ? text : undefined;
}

function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let size = 1;
  const isList = Array.isArray(value);
  for (const [key, each] of Object.entries(value)) {
    size += (isList ? 0 : key.length + 3) + sizeUpTo(each, most - size) + 1;
    if (size > most) break;
  }
  return size;
}

/** A value on one line, with colors. */
function painted(value: unknown, paint: Palette): string {
  if (typeof value === 'string') return paint.green(harmlessJson(value));
  if (typeof value === 'number') return paint.yellow(harmlessJson(value));
  if (typeof value !== 'object' || value === null) return paint.dim(harmlessJson(value));
  if (Array.isArray(value)) return `[${value.map((each) => painted(each, paint)).join(',')}]`;
  const parts = Object.entries(value).map(
    ([key, each]) => `${paint.cyan(harmlessJson(key))}:${painted(each, paint)}`,
  );
  return `{${parts.join(',')}}`;
}

/** A value on one line of at most `columns`, colored; undefined where it does not fit. */
export function jsonOnOneLine(value: unknown, columns: number, paint: Palette): string | undefined {
  return brieflyUpTo(value, columns) === undefined ? undefined : painted(value, paint);
}

/** What JSON leaves as it is and a terminal may obey: C1 controls, direction marks, and the like. */
const STEERING = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A value as JSON that is the same to a parser and harmless to a terminal, with the line's end. */
export const jsonText = (value: unknown, indent = 0): string =>
  `${JSON.stringify(value, null, indent).replace(STEERING, escaped)}\n`;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The same on one line, without a line end. */
const harmlessJson = (value: unknown): string => JSON.stringify(value).replace(STEERING, escaped);

/** An event as one line of JSON: its place first, then what happened, then why. */
export function eventJson(event: ObservedEvent | RunEvent): string {
  if (!('session' in event)) {
    const { seq, at, run, type, cause, ...body } = event;
    return jsonText({ seq, at, run, type, ...body, cause });
  }
  if (!('seq' in event)) {
    const { session, turn, type, ...body } = event;
    return jsonText({ session, turn, type, ...body });
  }
  const { seq, at, session, turn, type, cause, ...body } = event;
  return jsonText({ seq, at, session, turn, type, ...body, cause });
}
