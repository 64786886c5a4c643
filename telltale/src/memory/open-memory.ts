import { resolve } from 'node:path';
import { builtFile } from '../kernel/built-file.ts';
import type { Clock } from '../kernel/clock.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import { within } from '../kernel/within.ts';
import type { Store } from '../store/store.ts';
import { contentsOf, createChangedFiles } from './index/changed-files.ts';
import { placeFact } from './index/fact-subjects.ts';
import { commitOf } from './index/git-folder.ts';
import { graphName } from './index/graph-name.ts';
import { graphPath } from './index/graph-paths.ts';
import { startIndexThread } from './index/index-thread.ts';
import { createIndexer } from './index/indexer.ts';
import { createLineReader } from './index/line-reader.ts';
import { realFolder } from './index/real-folder.ts';
import type { Memory, MemoryAnswer } from './memory.ts';
import { answerFiles, withStaleFacts } from './query/answer-files.ts';
import { queryGraph } from './query/query-graph.ts';
import { relevantPart } from './query/relevant-part.ts';

export interface OpenMemoryOptions {
  /** It stays the caller's to close. */
  readonly store: Pick<Store, 'location' | 'tables' | 'graphs'>;
  /** Absolute, or relative to `cwd`. */
  readonly folder: string;
  readonly cwd?: string;
  readonly clock: Clock;
  readonly tokenizer: LoadTokenizer;
  /** A question looks at the folder again when the last look is longer ago. */
  readonly freshnessMs?: number;
  /** How long a question waits for that. */
  readonly waitMs?: number;
  /** The module that reads sources: one with `createSourceParser`. */
  readonly parser?: URL;
}

const FRESHNESS_MS = 1_000;
const WAIT_MS = 2_000;
const PARSER = builtFile(new URL('./parse/source-parser.ts', import.meta.url));

/** Opens what is known of a folder. Nothing is read yet: the first question, or `index`, does that. */
export async function openMemory(options: OpenMemoryOptions): Promise<Memory> {
  const { store, clock, tokenizer, freshnessMs = FRESHNESS_MS, waitMs = WAIT_MS, parser = PARSER } = options;
  const given = resolve(options.cwd ?? '', options.folder);
  const folder = realFolder(given);
  const graph = graphName(store.location, folder);
  const graphs = await store.graphs();
  const indexer = createIndexer({
    store: graphs,
    tables: store.tables,
    graph,
    folder,
    clock,
    startThread: () => startIndexThread(parser, clock),
  });
  const pathOf = (path: string) => graphPath(path, folder, given);
  const inFolder = (paths: readonly string[]): readonly string[] =>
    [...new Set(paths.map(pathOf).filter((path) => path !== undefined && path !== ''))] as string[];

  /** Why the graph may be short, where it could not be brought up to date in time. */
  const refresh = async (patienceMs: number): Promise<string | undefined> => {
    const { walkedAt } = indexer;
    if (walkedAt !== undefined && clock.monotonic() - walkedAt < freshnessMs) return undefined;
    const pass = indexer.walking()?.done ?? indexer.index({});
    const outcome = await within(clock, patienceMs, pass);
    switch (outcome.kind) {
      case 'done':
        return undefined;
      case 'late':
        return `the graph is still being built: ${indexer.walking()?.read ?? 0} files so far`;
      case 'failed':
        return `the graph could not be brought up to date: ${toRuntimeError(outcome.error).message}`;
    }
  };

  const changed = createChangedFiles(folder, indexer.known);
  /** Reads these again where they may have changed; whether there were any. */
  const lookAgain = async (paths: readonly string[]): Promise<boolean> => {
    const some = paths.filter(changed.mayHave);
    if (some.length > 0) await within(clock, waitMs, indexer.index({ paths: some }));
    return some.length > 0;
  };

  return {
    folder,
    graph,
    async index({ paths, ...rest } = {}) {
      if (paths === undefined) return indexer.index(rest);
      const own = paths.map(pathOf).filter((path) => path !== undefined);
      return indexer.index(own.includes('') ? rest : { ...rest, paths: own });
    },
    async query(query, view) {
      const note = await refresh(waitMs);
      const { path } = query;
      const asked = path === undefined ? query : { ...query, path: pathOf(path) || path };
      const ask = () =>
        queryGraph(graphs, graph, folder, asked, { tokenizer, view, readLines: createLineReader(folder) });
      let answer = await ask();
      if (note === undefined && (await lookAgain(await answerFiles(graphs, graph, answer))))
        answer = await ask();
      return withNote(await withStaleFacts(graphs, graph, answer, changed.has), note);
    },
    async relevant(text, maxTokens, view) {
      // Of half a graph the most relevant part may be the other half: whoever asks has a deadline of its own.
      await refresh(Number.POSITIVE_INFINITY);
      const ask = () => relevantPart(graphs, graph, text, maxTokens, { tokenizer, view });
      const { part, files } = await ask();
      return (await lookAgain(files)) ? (await ask()).part : part;
    },
    async learn(facts, { session }) {
      const placed = facts.map((fact) => ({ fact, ...placeFact(fact, pathOf) }));
      const paths = placed.flatMap(({ about }) => about.flatMap(({ path }) => path ?? []));
      const own = [...new Set(paths)];
      const isBySymbol = placed.some(({ about }) => about.some(({ path }) => path === undefined));
      // A fact holds as long as its files are what they are now, so these have to be known, and where a symbol is.
      const passes = [
        ...(isBySymbol ? [indexer.index({})] : []),
        ...(own.length > 0 ? [indexer.index({ paths: own, byName: true })] : []),
      ];
      const { kind: known } = await within(clock, waitMs, Promise.all(passes));
      const contents = known === 'done' ? undefined : contentsOf(folder, own);
      return graphs.learn(
        graph,
        placed.map(({ fact: { kind = 'fact', supersedes }, text, about }) => ({
          kind,
          text,
          about,
          atMs: clock.now(),
          ...commitOf(folder),
          ...(session === undefined ? {} : { session }),
          ...(contents === undefined ? {} : { contents }),
          ...(supersedes === undefined ? {} : { supersedes }),
        })),
      );
    },
    async noteSession({ session, title, read, changed }) {
      const paths = { read: inFolder(read), changed: inFolder(changed) };
      await graphs.noteSession(graph, { session, title, atMs: clock.now(), ...commitOf(folder), ...paths });
    },
    stats: () => graphs.stats(graph),
    close: () => indexer.close(),
  };
}

const withNote = (answer: MemoryAnswer, note: string | undefined): MemoryAnswer =>
  note === undefined
    ? answer
    : { ...answer, note: answer.note === undefined ? note : `${answer.note}; ${note}` };
