import { createHash } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import type { GraphFile, GraphStore } from '../../store/graph.ts';
import type { Tables } from '../../store/store.ts';
import type { IndexOptions, IndexProgress, IndexReport } from '../memory.ts';
import { memoryClosed } from '../memory-errors.ts';
import { findGitFolder, readCommit } from './git-folder.ts';
import { type IndexThread, startIndexThread } from './index-thread.ts';
import { EMPTY_CONTEXT, type ResolveContext } from './resolve/resolve-context.ts';
import { resolveAgain, runIndex } from './run-index.ts';

export interface IndexerEdges {
  readonly store: GraphStore;
  /** Beside the graph: how it was read. */
  readonly tables: Pick<Tables, 'get' | 'set'>;
  readonly graph: string;
  /** Absolute, and real. */
  readonly folder: string;
  readonly clock: Clock;
  readonly parser: URL;
}

/** Keeps a graph like its folder: one pass at a time, at most one that waits behind it for all who ask meanwhile. */
export interface Indexer {
  /** `paths` are those of the graph. `byName`: also files of no known language. */
  index(options: IndexOptions & { readonly byName?: boolean }): Promise<IndexReport>;
  /** What is known of a file, as far as this process has looked. */
  known(path: string): GraphFile | undefined;
  /** The pass in hand over the whole folder, if there is one. */
  walking(): { readonly done: Promise<unknown>; readonly read: number } | undefined;
  /** When one last came to its end, on the monotonic clock. */
  readonly walkedAt: number | undefined;
  close(): Promise<void>;
}

interface Pass {
  readonly isFull: boolean;
  readonly below: Set<string>;
  readonly byName: Set<string>;
  readonly watchers: Set<(progress: IndexProgress) => void>;
  /** Those who still want it. */
  callers: number;
  isStopped: boolean;
  read: number;
  done: Promise<IndexReport>;
}

/** Goes up with what is read of a file: then all are read anew. */
const READING = 1;
const TABLE = 'memory';
/** A thread that is told to stop and does not is ended. */
const STOP_MS = 1_000;

export function createIndexer(edges: IndexerEdges): Indexer {
  const { store, graph, folder, clock } = edges;
  let thread: IndexThread | undefined;
  let known: Map<string, GraphFile> | undefined;
  let context: ResolveContext = EMPTY_CONTEXT;
  let running: Pass | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const waiting: Pass[] = [];
  let walkedAt: number | undefined;
  let isClosed = false;
  let ids = 0;

  const liveThread = (): IndexThread => {
    if (thread?.isAlive !== true) thread = startIndexThread(edges.parser, clock);
    return thread;
  };

  /** Since when files are read in this way, and what was said of imports then. */
  const readMark = async (): Promise<{ readonly sinceMs: number; readonly context?: string }> => {
    const mark = (await edges.tables.get(TABLE, graph)) as Record<string, Json> | undefined;
    if (mark?.reading === READING && typeof mark.sinceMs === 'number')
      return {
        sinceMs: mark.sinceMs,
        ...(typeof mark.context === 'string' ? { context: mark.context } : {}),
      };
    const sinceMs = mark === undefined ? 0 : Date.now();
    await edges.tables.set(TABLE, graph, { reading: READING, sinceMs });
    return { sinceMs };
  };

  const run = async (pass: Pass): Promise<IndexReport> => {
    const began = clock.monotonic();
    if (pass.isFull || known === undefined)
      known = new Map((await store.files(graph)).map((file) => [file.path, file]));
    const files = known;
    const isFirst = files.size === 0;
    const mark = await readMark();
    const report = await runIndex(
      {
        known: files,
        context,
        below: pass.isFull ? [''] : [...pass.below],
        byName: [...pass.byName],
        staleBeforeMs: mark.sinceMs,
      },
      {
        ...{ store, graph, folder },
        thread: liveThread,
        isStopped: () => pass.isStopped,
        nextId: () => ++ids,
        onProgress(progress) {
          pass.read = progress.read;
          for (const watch of pass.watchers) watch(progress);
        },
      },
    );
    context = report.context;
    const hash = pass.isFull ? hashOf(context) : mark.context;
    const isOther = report.isOther || (hash !== mark.context && !isFirst);
    if (!pass.isStopped && isOther && !isFirst) await resolveAgain(store, graph, files, context);
    if (!pass.isStopped && pass.isFull) {
      if (hash !== undefined && hash !== mark.context)
        await edges.tables.set(TABLE, graph, { reading: READING, sinceMs: mark.sinceMs, context: hash });
      const commit = currentCommit(folder);
      await store.write(graph, { walkedAtMs: clock.now(), ...(commit === undefined ? {} : { commit }) });
      walkedAt = clock.monotonic();
    }
    const { parsed, symbols, removed, unreadable, stopped } = report;
    const counts = { files: files.size, parsed, removed, symbols, notes: notesOf(files, unreadable) };
    return {
      ...counts,
      ms: Math.round(clock.monotonic() - began),
      ...(stopped === undefined ? {} : { stopped }),
    };
  };

  /** The pass that has not begun yet, so that all who join it now get what is there now. */
  const passFor = (paths: readonly string[] | undefined): Pass => {
    const isFull = paths === undefined;
    const same = waiting.find((each) => each.isFull === isFull);
    if (same !== undefined) return same;
    const pass: Pass = {
      ...{ isFull, below: new Set<string>(), byName: new Set<string>(), watchers: new Set(), callers: 0 },
      ...{ isStopped: false, read: 0, done: Promise.resolve(NEVER) },
    };
    waiting.push(pass);
    const start = async () => {
      waiting.splice(waiting.indexOf(pass), 1);
      if (isClosed) throw memoryClosed(folder);
      running = pass;
      try {
        return await run(pass);
      } finally {
        running = undefined;
      }
    };
    pass.done = last.then(start, start);
    last = pass.done;
    // Each caller is told; a pass that all of them have left is nobody's.
    pass.done.catch(() => undefined);
    return pass;
  };

  const stop = (pass: Pass) => {
    if (pass.isStopped) return;
    pass.isStopped = true;
    if (running !== pass || thread === undefined) return;
    const stopping = thread;
    stopping.stop();
    const cancel = clock.after(STOP_MS, () => void stopping.end());
    pass.done.then(cancel, cancel);
  };

  return {
    async index({ paths, byName = false, signal, onProgress }) {
      if (isClosed) throw memoryClosed(folder);
      signal?.throwIfAborted();
      const pass = passFor(paths);
      for (const path of paths ?? []) {
        pass.below.add(path);
        if (byName) pass.byName.add(path);
      }
      if (onProgress !== undefined) pass.watchers.add(onProgress);
      pass.callers++;
      if (signal === undefined) return pass.done;
      let onAbort = () => {};
      const aborted = new Promise<never>((_resolve, reject) => {
        onAbort = () => {
          if (--pass.callers === 0) stop(pass);
          reject(signal.reason);
        };
        signal.addEventListener('abort', onAbort, { once: true });
      });
      try {
        return await Promise.race([pass.done, aborted]);
      } finally {
        signal.removeEventListener('abort', onAbort);
        if (onProgress !== undefined) pass.watchers.delete(onProgress);
      }
    },
    known: (path) => known?.get(path),
    walking: () => (running?.isFull ? { done: running.done, read: running.read } : undefined),
    get walkedAt() {
      return walkedAt;
    },
    async close() {
      isClosed = true;
      if (running !== undefined) stop(running);
      await last.catch(() => undefined);
      await thread?.end();
    },
  };
}

/** Stands in a pass until it is given its own. */
const NEVER: IndexReport = { files: 0, parsed: 0, removed: 0, symbols: 0, notes: {}, ms: 0 };

function notesOf(
  files: ReadonlyMap<string, GraphFile>,
  unreadable: number,
): Readonly<Record<string, number>> {
  const notes: Record<string, number> = {};
  for (const { note } of files.values()) if (note !== undefined) notes[note] = (notes[note] ?? 0) + 1;
  if (unreadable > 0) notes.unreadable = unreadable;
  return notes;
}

function currentCommit(folder: string): string | undefined {
  const git = findGitFolder(folder);
  return git === undefined ? undefined : readCommit(git);
}

const hashOf = ({ packages, configs, goModules, crates }: ResolveContext): string =>
  createHash('sha256')
    .update(JSON.stringify([[...packages], configs, goModules, [...crates]]))
    .digest('hex');
