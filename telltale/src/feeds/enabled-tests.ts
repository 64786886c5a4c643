import type { Expression } from '../conditions/cel/parse-expression.ts';
import type { SessionState } from '../events/state.ts';
import type { FeedEntry } from './feed-entry.ts';

/** The tests of `enabled`: which of them can come out otherwise than before. */
export interface EnabledTests {
  readonly count: number;
  /**
   * Those that read something that is another than at the last call; all of them with `always`, and at the first call.
   * A turn that changes a field pays for the feeds that read it, not for all: a test takes half a microsecond.
   */
  due(state: TestedState, always: boolean): readonly FeedEntry[];
}

/** Looked at as it is: what expressions see of it is made for each session, and takes microseconds to read. */
type TestedState = Pick<SessionState, 'metadata' | 'variables'>;

interface Watch {
  readonly name: string;
  readonly readers: FeedEntry[];
  last: unknown;
}

const NOT_SEEN = Symbol();
const NONE: readonly FeedEntry[] = [];

export function createEnabledTests(entries: Iterable<FeedEntry>): EnabledTests {
  const watched: Readonly<Record<Root, Map<string, Watch>>> = { metadata: new Map(), vars: new Map() };
  const others: FeedEntry[] = [];
  let count = 0;

  for (const entry of entries) {
    if (entry.test === undefined) continue;
    count++;
    const read = readBy(entry.test);
    if (read === undefined) others.push(entry);
    else
      for (const { root, name } of read) {
        const known = watched[root].get(name);
        if (known === undefined) watched[root].set(name, { name, readers: [entry], last: NOT_SEEN });
        else known.readers.push(entry);
      }
  }
  const fields = [...watched.metadata.values()];
  const variables = [...watched.vars.values()];

  return {
    count,
    due(state, always) {
      let due: Set<FeedEntry> | undefined;
      const look = (one: Watch, value: unknown) => {
        if (value === one.last && !always) return;
        one.last = value;
        due ??= new Set(others);
        for (const reader of one.readers) due.add(reader);
      };
      for (const one of fields) look(one, state.metadata[one.name]);
      for (const one of variables) look(one, state.variables.get(one.name)?.value);
      if (due !== undefined) return [...due];
      return others.length === 0 ? NONE : others;
    },
  };
}

/** Where the fields of the metadata and the variables stand. Of what else a test reads nobody says when it changes. */
type Root = 'metadata' | 'vars';

const isRoot = (name: string): name is Root => name === 'metadata' || name === 'vars';

/** The fields and variables that a test reads, and nothing besides; undefined where it is not that plain. */
function readBy({
  names,
}: Expression): readonly { readonly root: Root; readonly name: string }[] | undefined {
  const read: { readonly root: Root; readonly name: string }[] = [];
  for (const { root, path } of names) {
    const [name] = path;
    if (!isRoot(root) || typeof name !== 'string') return undefined;
    read.push({ root, name });
  }
  return read.length === 0 ? undefined : read;
}
