import type { ParsedNode, Scalar } from 'yaml';
import type { Span } from '../diagnostic.ts';

/** The range of a node in its document's text, without what follows it. */
export function spanOf(node: ParsedNode): Span {
  const [start, end] = node.range;
  return { start, end: Math.max(end, start + 1) };
}

/**
 * The range in the document's text of a part of a scalar's value, as written, before environment variables are
 * inserted.
 */
export function spanInside(node: Scalar.Parsed, text: string, value: string, from: number, to: number): Span {
  const [start, end] = node.range;
  const source = text.slice(start, end);
  const first = start + alignOffset(source, node.type, value, from);
  const last = start + alignOffset(source, node.type, value, Math.max(from, to - 1));
  return { start: first, end: Math.max(first, last) + 1 };
}

/** The range of the tag before a node. */
export function tagSpan(node: ParsedNode, text: string): Span {
  const tag = /!\S*\s*(?:&\S*\s*)?$/.exec(text.slice(Math.max(0, node.range[0] - 200), node.range[0]));
  if (tag === null) return spanOf(node);
  const start = node.range[0] - tag[0].length;
  return { start, end: start + (/^!\S*/.exec(tag[0])?.[0].length ?? 1) };
}

const ESCAPE = /^\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|[\s\S])/;

/**
 * The offset in the source text of a code unit of a scalar's value. It is exact if the two are equal. Where folding and
 * escapes make them differ, it walks both side by side. It is always inside the source.
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

/** The offset after the quote, or after a block scalar's header line and the indentation of its first line. */
function firstUnit(source: string, indent: number | undefined): number {
  if (indent !== undefined) return skipSpaces(source, source.indexOf('\n') + 1, indent);
  return /^["']/.test(source) ? 1 : 0;
}

/** The indentation of a block scalar: how much more its first line with text has than the value. */
function blockIndent(source: string, value: string): number {
  const written = /^( *)[^ \r\n]/m.exec(source.slice(source.indexOf('\n') + 1))?.[1] ?? '';
  const kept = /^( *)[^ \n]/m.exec(value)?.[1] ?? '';
  return Math.max(0, written.length - kept.length);
}

/** Skips at most `most` spaces. */
function skipSpaces(source: string, from: number, most: number): number {
  let at = from;
  while (at < from + most && source[at] === ' ') at++;
  return at;
}

const isBreak = (unit: string | undefined) => unit === '\n' || unit === '\r';

/** Skips the indentation of a folded line up to where the value continues. */
function skipIndent(source: string, from: number, value: string, seen: number): number {
  let at = from;
  while (at < source.length && (source[at] === ' ' || source[at] === '\t') && value[seen] !== source[at])
    at++;
  return at;
}
