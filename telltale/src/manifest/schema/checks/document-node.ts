import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { Json } from '../../../lib/json.ts';
import type { Issue, IssuePath } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import type { ValuesFinding } from '../values.ts';

/**
 * A position in a document, which may be missing or of the wrong type. Checks across a document run in addition to the
 * schemas, so that a misspelled key does not hide a cycle.
 */
export interface DocumentNode {
  readonly value: Json | undefined;
  readonly path: IssuePath;
  /** The node under a key. An absent node if this is not a map. */
  at(key: string): DocumentNode;
  /** The items of a list. Empty if this is not a list. */
  items(): readonly DocumentNode[];
  /** The entries of a map. Empty if this is not a map. */
  entries(): readonly (readonly [string, DocumentNode])[];
  text(): string | undefined;
  has(key: string): boolean;
}

export function documentNode(value: Json | undefined, path: IssuePath = []): DocumentNode {
  const map = isMap(value) ? (value as Readonly<Record<string, Json>>) : undefined;
  return {
    value,
    path,
    at: (key) =>
      documentNode(map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined, [...path, key]),
    items: () =>
      Array.isArray(value) ? value.map((item: Json, index) => documentNode(item, [...path, index])) : [],
    entries: () =>
      Object.entries(map ?? {}).map(([key, item]) => [key, documentNode(item, [...path, key])] as const),
    text: () => (typeof value === 'string' ? value : undefined),
    has: (key) => map !== undefined && Object.hasOwn(map, key),
  };
}

interface IssueParts {
  /** Finding a similar name takes time, so it happens only for issues that are shown. */
  readonly hint?: string | (() => string) | undefined;
  readonly at?: 'key' | 'value';
  readonly offset?: number | undefined;
}

const issueAt =
  (severity: Issue['severity']) =>
  (place: DocumentNode, code: string, message: string, { hint, at, offset }: IssueParts = {}): Issue => {
    const issue = { severity, code, path: place.path, at: at ?? 'value', message };
    const placed: Issue = offset === undefined ? issue : { ...issue, offset };
    if (typeof hint === 'function')
      return Object.defineProperty(placed, 'hint', { get: hint, enumerable: true });
    return hint === undefined ? placed : { ...placed, hint };
  };

export const errorAt = issueAt('error');
export const warningAt = issueAt('warning');

/** Every text under a node, including the node itself, with its position. */
export function* textsUnder(place: DocumentNode): Generator<readonly [string, DocumentNode]> {
  const text = place.text();
  if (text !== undefined) yield [text, place];
  for (const item of place.items()) yield* textsUnder(item);
  for (const [, item] of place.entries()) yield* textsUnder(item);
}

export type DocumentNodeGraph = ReadonlyMap<string, readonly string[]>;

/** More cycles would tell a reader nothing new. */
const MAX_CYCLES = 8;

/**
 * Cycles of a directed graph, each as its names with the first one repeated at the end. Up to a limit, every cycle
 * shares an edge with a returned one. It is not recursive, because a chain may be as long as a document allows.
 */
export function findCycles(graph: DocumentNodeGraph): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const trail: { readonly name: string; next: number }[] = [];
    const onTrail = new Map<string, number>();
    const enter = (name: string) => {
      onTrail.set(name, trail.length);
      trail.push({ name, next: 0 });
    };
    if (!done.has(start)) enter(start);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const follower = graph.get(top.name)?.[top.next++];
      if (follower === undefined) {
        trail.pop();
        onTrail.delete(top.name);
        done.add(top.name);
        continue;
      }
      const since = onTrail.get(follower);
      if (since !== undefined) {
        cycles.push([...trail.slice(since).map(({ name }) => name), follower]);
        if (cycles.length === MAX_CYCLES) return cycles;
      } else if (graph.has(follower) && !done.has(follower)) enter(follower);
    }
  }
  return cycles;
}

/** `a → b → a`. */
export const showCycle = (cycle: readonly string[]): string => cycle.join(' → ');

/** What is wrong with a CEL expression on its own. The names in it are checked elsewhere. */
export function checkCel(source: string): readonly ValuesFinding[] {
  const parsed = parseExpression(source);
  if (parsed.ok) return [];
  const { message, hint, offset } = parsed.error;
  return [{ code: 'bad_expression', message, hint, offset }];
}
