import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Span } from '../diagnostic.ts';
import type { IssuePath } from '../issue.ts';
import type { ReadValue } from './read-value.ts';
import { spanInside, spanOf } from './spans.ts';

/** Where an issue stands, and the node it is about. */
export interface Located {
  readonly span: Span;
  readonly node: ParsedNode | null;
}

export interface LocateQuery {
  readonly path: IssuePath;
  readonly at: 'key' | 'value';
  /** Inside a string value, environment variables put in. */
  readonly offset?: number | undefined;
}

type Maps = Pick<ReadValue, 'aliases' | 'substituted'>;

/**
 * Finds the place of an issue in a document's text. A path that leads further than the document goes ends at the
 * deepest node there is. A block of several lines is marked by its key: that is what a reader looks for.
 */
export function locate(root: ParsedNode | null, text: string, maps: Maps, query: LocateQuery): Located {
  let node = root;
  let keyNode: ParsedNode | null = null;
  for (const segment of query.path) {
    const container = followAlias(node, maps.aliases);
    const step = stepInto(container, segment);
    if (step === undefined) break;
    keyNode = step.key;
    node = step.value;
  }
  const value = followAlias(node, maps.aliases);
  if (query.offset !== undefined && isScalar(value) && value.range)
    return { span: offsetSpan(value as Scalar.Parsed, text, maps, query.offset), node: value };
  return { span: spanFor(keyNode, node, query.at), node: value };
}

function spanFor(keyNode: ParsedNode | null, node: ParsedNode | null, at: 'key' | 'value'): Span {
  if (keyNode !== null && (at === 'key' || node === null || isBlock(node) || isEmpty(node)))
    return spanOf(keyNode);
  if (node === null) return { start: 0, end: 1 };
  const first = isMap(node) && isBlock(node) ? (node.items[0]?.key as ParsedNode | undefined) : undefined;
  return spanOf(first ?? node);
}

const isBlock = (node: ParsedNode) => (isMap(node) || isSeq(node)) && node.flow !== true;
const isEmpty = (node: ParsedNode) => node.range[0] === node.range[1];

const followAlias = (node: ParsedNode | null, aliases: Maps['aliases']): ParsedNode | null =>
  node !== null && isAlias(node) ? (aliases.get(node as Alias) ?? node) : node;

function stepInto(
  container: ParsedNode | null,
  segment: string | number,
): { readonly key: ParsedNode | null; readonly value: ParsedNode | null } | undefined {
  if (isMap(container)) {
    const { items } = container as YAMLMap.Parsed;
    const pair = items.find(({ key }) => isScalar(key) && key.value === String(segment));
    return pair && { key: pair.key, value: pair.value };
  }
  if (isSeq(container) && typeof segment === 'number') {
    const value = (container as YAMLSeq.Parsed).items[segment] as ParsedNode | undefined;
    return value && { key: null, value };
  }
  return undefined;
}

const WORD = /^(?:[\w$]+|\S)/;

function offsetSpan(node: Scalar.Parsed, text: string, { substituted }: Maps, offset: number): Span {
  const written = typeof node.value === 'string' ? node.value : (node.source ?? '');
  const pieces = substituted.get(node)?.pieces;
  const piece = pieces?.find(({ outStart, outEnd }) => offset >= outStart && offset < outEnd);
  const raw = piece === undefined ? offset : toRaw(piece, offset);
  const length = WORD.exec(written.slice(raw, raw + 100))?.[0].length ?? 1;
  const end = piece !== undefined && isReplaced(piece) ? piece.rawEnd : raw + length;
  return spanInside(node, text, written, Math.min(raw, written.length), Math.min(end, written.length));
}

const isReplaced = (piece: { rawStart: number; rawEnd: number; outStart: number; outEnd: number }) =>
  piece.rawEnd - piece.rawStart !== piece.outEnd - piece.outStart;

const toRaw = (
  piece: {
    readonly rawStart: number;
    readonly rawEnd: number;
    readonly outStart: number;
    readonly outEnd: number;
  },
  offset: number,
) => (isReplaced(piece) ? piece.rawStart : piece.rawStart + offset - piece.outStart);
