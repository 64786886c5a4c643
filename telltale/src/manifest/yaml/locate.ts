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
import type { IssuePath, Span } from '../diagnostic.ts';
import { otherNameOf } from '../other-names.ts';
import type { ReadValue } from './read-value.ts';
import { spanInside, spanOf } from './spans.ts';

/** The position of an issue, and its node. */
export interface Located {
  /** The position of the use: for the value of an alias, the alias. */
  readonly span: Span;
  /** The positions from alias to alias to the definition. Empty if that is `span`. */
  readonly from: readonly Span[];
  readonly node: ParsedNode | null;
}

export interface LocateQuery {
  readonly path: IssuePath;
  readonly at: 'key' | 'value';
  /** The offset inside a string value, after environment variables were inserted. */
  readonly offset?: number | undefined;
  /** `missing` marks a node's own key, because the node lacks another key. */
  readonly code?: string;
}

type Maps = Pick<ReadValue, 'aliases' | 'substituted'>;

/**
 * Finds the position of an issue in a document's text. A path that leads beyond the document ends at the deepest
 * existing node. A block of several lines is marked at its key, because readers look there.
 */
export function locate(root: ParsedNode | null, text: string, maps: Maps, query: LocateQuery): Located {
  const hops: Span[] = [];
  const follow = (place: LocatePlace): LocatePlace => {
    const { node } = place;
    const anchored = node !== null && isAlias(node) ? maps.aliases.get(node as Alias) : undefined;
    if (anchored === undefined) return place;
    hops.push(spanOf(node as Alias.Parsed));
    return anchored;
  };
  let place: LocatePlace = { key: null, node: root };
  for (const segment of query.path) {
    place = follow(place);
    const step = stepInto(place.node, segment);
    if (step === undefined) break;
    place = step;
  }
  const isOfKey = query.at === 'key' && query.code !== 'missing' && place.key !== null;
  const { key, node } = isOfKey ? place : follow(place);
  const written =
    query.offset !== undefined && isScalar(node) && node.range
      ? offsetSpan(node as Scalar.Parsed, text, maps, query.offset)
      : spanFor(key, node, query.at);
  const [span = written, ...between] = hops;
  return { span, from: hops.length === 0 ? [] : [...between, written], node };
}

interface LocatePlace {
  readonly key: ParsedNode | null;
  readonly node: ParsedNode | null;
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

function stepInto(container: ParsedNode | null, segment: string | number): LocatePlace | undefined {
  if (isMap(container)) {
    const { items } = container as YAMLMap.Parsed;
    const named = (name: string | number | undefined) =>
      items.find(({ key }) => isScalar(key) && String(key.value) === String(name));
    const pair = named(segment) ?? named(otherNameOf(segment));
    return pair && { key: pair.key, node: pair.value };
  }
  if (isSeq(container) && typeof segment === 'number') {
    const node = (container as YAMLSeq.Parsed).items[segment] as ParsedNode | undefined;
    return node && { key: null, node };
  }
  return undefined;
}

const WORD = /^(?:\$?\{[^{}\n]{0,80}\}|[\w$]+|\S)/;

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
