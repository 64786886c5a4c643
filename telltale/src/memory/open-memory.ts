import { constants, lstatSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { builtFile } from '../lib/built-file.ts';
import { type Clock, within } from '../lib/clock.ts';
import { toRuntimeError } from '../lib/errors.ts';
import type { LoadTokenizer } from '../lib/tokens.ts';
import type { FactSubject, FileContent, GraphFile } from '../store/graph.ts';
import type { Store } from '../store/store.ts';
import { commitOf, realFolder } from './index/git-folder.ts';
import { startIndexThread } from './index/index-thread.ts';
import { createIndexer } from './index/indexer.ts';
import { changeTime, MAX_SOURCE_BYTES, RACY_MS, readSource } from './index/read-source.ts';
import type { LearnedFact, Memory, MemoryAnswer } from './memory.ts';
import { queryGraph } from './query/query-graph.ts';
import { answerFiles, relevantPart, withStaleFacts } from './query/relevant-part.ts';

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

const SQLITE = 'sqlite:';

/**
 * What a folder's graph is called in a store. Beside a file it is the way from the file's folder to it, so that a
 * project which is moved with its store keeps its memory; elsewhere the folder's absolute path.
 */
export function graphName(location: string, folder: string): string {
  if (!location.startsWith(SQLITE)) return folder;
  const way = relative(dirname(realPath(location.slice(SQLITE.length))), folder);
  return way === '' ? '.' : way.split(sep).join('/');
}

/** As far as it is there: the file of a store may be made only at the first write. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}

/**
 * What a fact is about, by paths of the graph. One that is about a file elsewhere is kept all the same: its text says
 * what it is about, since no file of the graph can.
 */
function placeFact(
  { text, about = [] }: Pick<LearnedFact, 'text' | 'about'>,
  pathOf: (path: string) => string | undefined,
): { readonly text: string; readonly about: readonly FactSubject[] } {
  const outside: string[] = [];
  const placed = about.flatMap(({ path, symbol }): readonly FactSubject[] => {
    const own = path === undefined ? undefined : pathOf(path);
    if (path !== undefined && own === undefined) outside.push(path);
    const subject = {
      ...(own === undefined || own === '' ? {} : { path: own }),
      ...(symbol === undefined ? {} : { symbol }),
    };
    return Object.keys(subject).length === 0 ? [] : [subject];
  });
  const where = outside.length === 0 ? '' : ` (about ${outside.join(', ')}, outside of the folder)`;
  return { text: `${text}${where}`, about: placed };
}

/**
 * A path as the graph has it: relative to the folder, with `/`; undefined for what is outside of it, and `''` for the
 * folder itself. `given` is the folder as it was asked for, which may lead there through a link.
 */
export function graphPath(path: string, folder: string, given: string): string | undefined {
  if (path.includes('\0')) return undefined;
  if (!isAbsolute(path)) return isWithin(resolve(folder, path), folder);
  return isWithin(path, folder) ?? isWithin(path, given) ?? isWithin(realPathOf(path), folder);
}

function isWithin(path: string, folder: string): string | undefined {
  const way = relative(folder, path);
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined;
  return way.split(sep).join('/');
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Not there any more: it was what it says.
  }
}

/** Lines of a file, from 1 on, both included; undefined where it cannot be read. */
export type ReadLines = (path: string, from: number, to: number) => Promise<readonly string[] | undefined>;

/** For one question, which asks for many parts of few files: each is read once. */
function createLineReader(folder: string): ReadLines {
  const files = new Map<string, Promise<readonly string[] | undefined>>();
  return async (path, from, to) => {
    const lines = files.get(path) ?? readLines(join(folder, path));
    files.set(path, lines);
    return (await lines)?.slice(from - 1, to);
  };
}

async function readLines(path: string): Promise<readonly string[] | undefined> {
  try {
    const file = await open(
      path,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    );
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_SOURCE_BYTES) return undefined;
      return (await file.readFile('utf8')).split(/\r\n|\n/);
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // Gone, or not to be read: the answer comes without its text.
  }
}

/** Looks at single files, between two passes over the folder. */
export interface ChangedFiles {
  /** Whether it may not be what it was when it was read. Of a file that is not known there is nothing to say. */
  mayHave(path: string): boolean;
  /** Whether its content is another. */
  has(path: string): boolean;
}

function createChangedFiles(
  folder: string,
  knownFile: (path: string) => GraphFile | undefined,
): ChangedFiles {
  const mayHave = (path: string): boolean => {
    const known = knownFile(path);
    if (known === undefined) return false;
    try {
      const found = lstatSync(join(folder, path), { throwIfNoEntry: false });
      const isSame = found?.size === known.size && changeTime(found) === known.mtimeMs;
      return !isSame || known.mtimeMs >= known.readAtMs - RACY_MS;
    } catch {
      return true; // The pass will see what is the matter with it.
    }
  };
  return {
    mayHave,
    has: (path) => mayHave(path) && hashOfFile(join(folder, path)) !== knownFile(path)?.hash,
  };
}

/** Undefined where it cannot be read. */
function hashOfFile(path: string): string | undefined {
  try {
    return readSource(path).hash;
  } catch {
    return undefined;
  }
}

/** Of those that are there. */
const contentsOf = (folder: string, paths: readonly string[]): readonly FileContent[] =>
  paths.flatMap((path) => {
    const hash = hashOfFile(join(folder, path));
    return hash === undefined ? [] : [{ path, hash }];
  });
