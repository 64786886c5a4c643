import type { Scalar } from 'yaml';

const ESCAPE = /^\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|[\s\S])/;

/**
 * Where the code unit `offset` of a scalar's value stands in its source text. Exact for what is written as it reads;
 * where folding and escapes make the two differ they are walked side by side. Always inside the source.
 */
export function alignOffset(
  source: string,
  type: Scalar.Type | undefined,
  value: string,
  offset: number,
): number {
  const isBlock = type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED';
  const indent = isBlock ? blockIndent(source, value) : undefined;
  const start = firstUnit(source, indent);
  const last = Math.max(0, source.length - 1);
  if (source.startsWith(value, start)) return Math.min(start + offset, last);
  let at = start;
  let seen = 0;
  while (seen < offset && at < source.length) {
    const escaped = type === 'QUOTE_DOUBLE' ? ESCAPE.exec(source.slice(at, at + 12))?.[0] : undefined;
    if (escaped !== undefined) {
      at += escaped.length;
      if (!escaped.includes('\n')) seen += escaped.startsWith('\\U') ? 2 : 1;
    } else if (type === 'QUOTE_SINGLE' && source.startsWith("''", at)) {
      at += 2;
      seen++;
    } else if (isBreak(source[at])) {
      const wanted = value[seen];
      at += source.startsWith('\r\n', at) ? 2 : 1;
      if (wanted === '\n' || wanted === ' ') seen++;
      at = indent === undefined ? skipIndent(source, at, value, seen) : skipSpaces(source, at, indent);
    } else {
      at++;
      seen++;
    }
  }
  return Math.min(at, last);
}

/** Behind the quote, or behind the header line of a block scalar and its first line's indentation. */
function firstUnit(source: string, indent: number | undefined): number {
  if (indent !== undefined) return skipSpaces(source, source.indexOf('\n') + 1, indent);
  return /^["']/.test(source) ? 1 : 0;
}

/** Columns that every line of a block scalar is indented by: what its first line with text has more than the value. */
function blockIndent(source: string, value: string): number {
  const written = /^( *)[^ \r\n]/m.exec(source.slice(source.indexOf('\n') + 1))?.[1] ?? '';
  const kept = /^( *)[^ \n]/m.exec(value)?.[1] ?? '';
  return Math.max(0, written.length - kept.length);
}

/** Past at most `most` spaces. */
function skipSpaces(source: string, from: number, most: number): number {
  let at = from;
  while (at < from + most && source[at] === ' ') at++;
  return at;
}

const isBreak = (unit: string | undefined) => unit === '\n' || unit === '\r';

/** Indentation of a folded plain or quoted line is skipped up to where the value goes on. */
function skipIndent(source: string, from: number, value: string, seen: number): number {
  let at = from;
  while (at < source.length && (source[at] === ' ' || source[at] === '\t') && value[seen] !== source[at])
    at++;
  return at;
}
