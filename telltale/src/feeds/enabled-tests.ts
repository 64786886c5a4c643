import type { ExpressionContext } from '../conditions/cel/evaluate.ts';
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
const ROOTS = ['metadata', 'vars'] as const;

interface Watch {
  readonly root: string;
  readonly name: string;
  readonly readers: FeedEntry[];
  last: unknown;
}

const NOT_SEEN = Symbol();

export function createEnabledTests(entries: Iterable<FeedEntry>): EnabledTests {
  const tested = [...entries].filter(({ test }) => test !== undefined);
  const watches = new Map<string, Watch>();
  const others: FeedEntry[] = [];
  for (const entry of tested) {
    const read = readBy(entry);
    if (read === undefined) others.push(entry);
    else for (const { root, name } of read) watch(root, name).readers.push(entry);
  }
  const roots = ROOTS.filter((root) => [...watches.values()].some((one) => one.root === root));

  function watch(root: string, name: string): Watch {
    const key = `${root}.${name}`;
    const known = watches.get(key) ?? { root, name, readers: [], last: NOT_SEEN };
    watches.set(key, known);
    return known;
  }

  return {
    count: tested.length,
    due(context, always) {
      const due = new Set(others);
      // Each is made anew when it is asked for.
      const now = new Map(roots.map((root) => [root as string, context[root]]));
      for (const one of watches.values()) {
        const value = memberOf(now.get(one.root), one.name);
        if (value === one.last && !always) continue;
        one.last = value;
        for (const reader of one.readers) due.add(reader);
      }
      return [...due];
    },
  };
}

/** The fields and variables that a test reads, and nothing besides; undefined where it is not that plain. */
function readBy({
  test,
}: FeedEntry): readonly { readonly root: string; readonly name: string }[] | undefined {
  const read: { readonly root: string; readonly name: string }[] = [];
  for (const { root, path } of test?.names ?? []) {
    const [name] = path;
    if (!(ROOTS as readonly string[]).includes(root) || typeof name !== 'string') return undefined;
    read.push({ root, name });
  }
  return read.length === 0 ? undefined : read;
}

const memberOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined;
