import type { ParsedNode, Scalar } from 'yaml';
import type { Span } from '../diagnostic.ts';
import { alignOffset } from './align-offset.ts';

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
