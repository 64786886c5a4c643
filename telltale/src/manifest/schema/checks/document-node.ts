import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { Json } from '../../../lib/json.ts';
import type { Issue, IssuePath } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import type { ValuesFinding } from '../values.ts';

/**
 * A place in a document, which need not be there nor be of the right type: the checks across a document run beside
 * the schemas, so that a misspelt key does not hide a cycle.
 */
export interface DocumentNode {
  readonly value: Json | undefined;
  readonly path: IssuePath;
  /** What is under a key; absent where this is no map. */
  at(key: string): DocumentNode;
  /** The items of a list; none where this is no list. */
  items(): readonly DocumentNode[];
  /** The entries of a map; none where this is no map. */
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
  /** Looking for the nearest of many names takes time: done only for the issues that are shown. */
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

/** Every text under a node, itself included, with its place. */
export function* textsUnder(place: DocumentNode): Generator<readonly [string, DocumentNode]> {
  const text = place.text();
  if (text !== undefined) yield [text, place];
  for (const item of place.items()) yield* textsUnder(item);
  for (const [, item] of place.entries()) yield* textsUnder(item);
}

export type DocumentNodeGraph = ReadonlyMap<string, readonly string[]>;

/** More would tell a reader nothing new. */
const MAX_CYCLES = 8;

/**
 * Cycles of a directed graph, each as the names on it with the first repeated at the end: every cycle is broken by
 * an edge of some that are returned, up to a limit. No recursion: a chain may be as long as a document allows.
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

/** What is wrong with a CEL expression by itself; which names it may use is judged where it stands. */
export function checkCel(source: string): readonly ValuesFinding[] {
  const parsed = parseExpression(source);
  if (parsed.ok) return [];
  const { message, hint, offset } = parsed.error;
  return [{ code: 'bad_expression', message, hint, offset }];
}
