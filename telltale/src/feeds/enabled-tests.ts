import type { ExpressionContext } from '../conditions/cel/evaluate.ts';
import type { Expression } from '../conditions/cel/parse-expression.ts';
import type { FeedEntry } from './feed-entry.ts';

/** The tests of `enabled`: which of them can come out otherwise than before. */
export interface EnabledTests {
  readonly count: number;
  /**
   * Those that read something that is another than at the last call; all of them with `always`, and at the first call.
   * A turn that changes a field pays for the feeds that read it, not for all: a test takes half a microsecond.
   */
  due(context: ExpressionContext, always: boolean): readonly FeedEntry[];
}

/** Where the fields of the metadata and the variables stand. Of what else a test reads nobody says when it changes. */
const ROOTS: ReadonlySet<string> = new Set(['metadata', 'vars']);

interface Watch {
  readonly name: string;
  readonly readers: FeedEntry[];
  last: unknown;
}

const NOT_SEEN = Symbol();
const NONE: readonly FeedEntry[] = [];

export function createEnabledTests(entries: Iterable<FeedEntry>): EnabledTests {
  const watches = new Map<string, Map<string, Watch>>();
  const others: FeedEntry[] = [];
  let count = 0;

  const watch = (root: string, name: string, reader: FeedEntry) => {
    const known = watches.get(root) ?? new Map<string, Watch>();
    watches.set(root, known);
    const same = known.get(name);
    if (same === undefined) known.set(name, { name, readers: [reader], last: NOT_SEEN });
    else same.readers.push(reader);
  };
  for (const entry of entries) {
    if (entry.test === undefined) continue;
    count++;
    const read = readBy(entry.test);
    if (read === undefined) others.push(entry);
    else for (const { root, name } of read) watch(root, name, entry);
  }

  return {
    count,
    due(context, always) {
      let due: Set<FeedEntry> | undefined;
      for (const [root, known] of watches) {
        const now = context[root]; // once: it may be made anew each time it is asked for
        for (const one of known.values()) {
          const value = memberOf(now, one.name);
          if (value === one.last && !always) continue;
          one.last = value;
          due ??= new Set(others);
          for (const reader of one.readers) due.add(reader);
        }
      }
      if (due !== undefined) return [...due];
      return others.length === 0 ? NONE : others;
    },
  };
}

/** The fields and variables that a test reads, and nothing besides; undefined where it is not that plain. */
function readBy({
  names,
}: Expression): readonly { readonly root: string; readonly name: string }[] | undefined {
  const read: { readonly root: string; readonly name: string }[] = [];
  for (const { root, path } of names) {
    const [name] = path;
    if (!ROOTS.has(root) || typeof name !== 'string') return undefined;
    read.push({ root, name });
  }
  return read.length === 0 ? undefined : read;
}

const memberOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined;
