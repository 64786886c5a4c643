import type { ParsedNode, Scalar } from 'yaml';
import type { Span } from '../diagnostic.ts';

/** Where a node stands in its document's text, without what follows it. */
export function spanOf(node: ParsedNode): Span {
  const [start, end] = node.range;
  return { start, end: Math.max(end, start + 1) };
}

/** Where a stretch of a scalar's value (as written, before anything is put in) stands in its document's text. */
export function spanInside(node: Scalar.Parsed, text: string, value: string, from: number, to: number): Span {
  const [start, end] = node.range;
  const source = text.slice(start, end);
  const first = start + alignOffset(source, node.type, value, from);
  const last = start + alignOffset(source, node.type, value, Math.max(from, to - 1));
  return { start: first, end: Math.max(first, last) + 1 };
}

/** Where the tag before a node stands. */
export function tagSpan(node: ParsedNode, text: string): Span {
  const tag = /!\S*\s*(?:&\S*\s*)?$/.exec(text.slice(Math.max(0, node.range[0] - 200), node.range[0]));
  if (tag === null) return spanOf(node);
  const start = node.range[0] - tag[0].length;
  return { start, end: start + (/^!\S*/.exec(tag[0])?.[0].length ?? 1) };
}

const ESCAPE = /^\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|[\s\S])/;

/**
 * Where the code unit `offset` of a scalar's value stands in its source text. Exact for what is written as it reads;
 * where folding and escapes make the two differ they are walked side by side. Always inside the source.
 */
function alignOffset(source: string, type: Scalar.Type | undefined, value: string, offset: number): number {
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
