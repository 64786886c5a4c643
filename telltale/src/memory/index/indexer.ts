import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { GraphFile, GraphResolvedImport, GraphStore } from '../../store/graph.ts';
import type { Tables } from '../../store/store.ts';
import type { IndexOptions, IndexProgress, IndexReport, Language } from '../memory.ts';
import { memoryClosed } from '../memory.ts';
import { commitOf, realFolder } from './git-folder.ts';
import type { IndexThread } from './index-thread.ts';
import { createResolveView, EMPTY_CONTEXT, type ResolveContext } from './resolve/read-context.ts';
import { resolveImport } from './resolve/resolve-import.ts';
import { type RunReport, runIndex } from './run-index.ts';

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
  stopped: boolean;
  read: number;
}

interface Promised {
  readonly pass: Pass;
  readonly done: Promise<IndexReport>;
}

/** A thread that is told to stop and does not is ended. */
const STOP_MS = 1_000;

export function createIndexer(edges: IndexDeps): Indexer {
  const { folder, clock } = edges;
  const once = createIndexOnce(edges);
  const waiting: Promised[] = [];
  let running: Promised | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let walkedAt: number | undefined;
  let isClosed = false;

  const start = async (pass: Pass): Promise<IndexReport> => {
    const at = waiting.findIndex((each) => each.pass === pass);
    [running] = waiting.splice(at, 1);
    try {
      if (isClosed) throw memoryClosed(folder);
      const report = await once.run({
        isFull: pass.isFull,
        below: pass.below,
        byName: pass.byName,
        isStopped: () => pass.stopped,
        onProgress(progress) {
          pass.read = progress.read;
          for (const watch of pass.watchers) watch(progress);
        },
      });
      if (isClosed) throw memoryClosed(folder);
      if (pass.isFull && !pass.stopped) walkedAt = clock.monotonic();
      return report;
    } finally {
      running = undefined;
    }
  };

  /** The pass that has not begun yet, so that all who join it now get what is there now. */
  const passFor = (isFull: boolean): Promised => {
    const same = waiting.find(({ pass }) => pass.isFull === isFull && !pass.stopped);
    if (same !== undefined) return same;
    const pass: Pass = {
      isFull,
      below: new Set<string>(),
      byName: new Set<string>(),
      watchers: new Set(),
      callers: 0,
      stopped: false,
      read: 0,
    };
    const next = () => start(pass);
    const done = last.then(next, next);
    // Each caller is told; a pass that all of them have left is nobody's.
    done.catch(() => undefined);
    last = done;
    const promised = { pass, done };
    waiting.push(promised);
    return promised;
  };

  const stop = ({ pass, done }: Promised) => {
    if (pass.stopped) return;
    pass.stopped = true;
    if (running?.pass !== pass) return;
    once.stop();
    const cancel = clock.after(STOP_MS, () => void once.endThread());
    done.then(cancel, cancel);
  };

  /** Rejects when the signal is aborted; the pass stops when all who wanted it have gone so. */
  const wait = async (promised: Promised, signal: AbortSignal): Promise<IndexReport> => {
    let onAbort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        if (--promised.pass.callers === 0) stop(promised);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([promised.done, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };

  return {
    async index({ paths, byName = false, signal, onProgress }) {
      if (isClosed) throw memoryClosed(folder);
      signal?.throwIfAborted();
      const promised = passFor(paths === undefined);
      const { pass, done } = promised;
      for (const path of paths ?? []) {
        pass.below.add(path);
        if (byName) pass.byName.add(path);
      }
      pass.callers++;
      if (onProgress !== undefined) pass.watchers.add(onProgress);
      return signal === undefined ? done : wait(promised, signal);
    },
    known: once.known,
    walking: () => (running?.pass.isFull ? { done: running.done, read: running.pass.read } : undefined),
    get walkedAt() {
      return walkedAt;
    },
    async close() {
      isClosed = true;
      if (running !== undefined) stop(running);
      await last.catch(() => undefined);
      await once.endThread();
    },
  };
}

export interface IndexDeps {
  readonly store: GraphStore;
  /** Beside the graph: how it was read. */
  readonly tables: Pick<Tables, 'get' | 'set'>;
  readonly graph: string;
  /** Absolute, and real. */
  readonly folder: string;
  readonly clock: Clock;
  startThread(): IndexThread;
}

/** What one pass is to look at. */
export interface IndexerScope {
  /** The whole folder, or only `below`. */
  readonly isFull: boolean;
  readonly below: ReadonlySet<string>;
  readonly byName: ReadonlySet<string>;
  isStopped(): boolean;
  onProgress(progress: IndexProgress): void;
}

/** Runs passes, one at a time, and keeps what the next one needs: the thread, and what is known. */
export interface IndexOnce {
  run(scope: IndexerScope): Promise<IndexReport>;
  known(path: string): GraphFile | undefined;
  /** The pass in hand ends soon, and what it has read is written. */
  stop(): void;
  endThread(): Promise<void>;
}

function createIndexOnce(edges: IndexDeps): IndexOnce {
  const { store, tables, graph, folder, clock } = edges;
  let thread: IndexThread | undefined;
  let known: Map<string, GraphFile> | undefined;
  /** Known once the whole folder was looked at. */
  let context: ResolveContext | undefined;

  const run = async (scope: IndexerScope): Promise<IndexReport> => {
    const began = clock.monotonic();
    // A folder that is gone as a whole is not one whose files are gone.
    realFolder(folder);
    // Another process may have written since; single paths are looked at with what was known last.
    if (scope.isFull || known === undefined)
      known = new Map((await store.files(graph)).map((file) => [file.path, file]));
    const files = known;
    const isFirst = files.size === 0;
    const mark = await readMark(tables, graph);
    const isOurs = context !== undefined && hashOf(context) === mark.context;
    let isSettled = mark.context !== undefined;
    /** Whatever ends the pass before imports are looked at again: the next whole one does that. */
    const unsettle = async () => {
      if (isSettled) await writeMark(tables, graph, { sinceMs: mark.sinceMs });
      isSettled = false;
    };
    const report = await runIndex(
      {
        known: files,
        context: context ?? EMPTY_CONTEXT,
        below: scope.isFull ? [''] : [...scope.below],
        byName: [...scope.byName],
        staleBeforeMs: mark.sinceMs,
      },
      {
        store,
        graph,
        folder,
        isStopped: scope.isStopped,
        onProgress: scope.onProgress,
        thread() {
          if (thread?.isAlive !== true) thread = edges.startThread();
          return thread;
        },
        onOther: unsettle,
        // Without the folder's manifests, or with other ones, some imports lead nowhere.
        onPart: async () => (isOurs ? undefined : unsettle()),
      },
    );
    if (!scope.isStopped()) await conclude(report, isFirst, mark, isSettled);
    const { parsed, symbols, removed, unreadable, stopped } = report;
    return {
      files: files.size,
      parsed,
      removed,
      symbols,
      notes: notesOf(files, unreadable),
      ms: Math.round(clock.monotonic() - began),
      ...(stopped === undefined ? {} : { stopped }),
    };
  };

  const conclude = async (
    { context: found, isOther }: RunReport,
    isFirst: boolean,
    mark: IndexMark,
    isSettled: boolean,
  ): Promise<void> => {
    context = found ?? context;
    const hash = context === undefined ? undefined : hashOf(context);
    const isNews = hash !== mark.context;
    // With other manifests than the graph was resolved by, single paths leave it to the next whole pass.
    if (context !== undefined && hash !== undefined && (found !== undefined || !isNews)) {
      if ((isOther || isNews) && !isFirst) await resolveAgain(store, graph, context);
      if (isNews || !isSettled) await writeMark(tables, graph, { ...mark, context: hash });
    }
    if (found !== undefined) await store.write(graph, { walkedAtMs: clock.now(), ...commitOf(folder) });
  };

  return {
    run,
    known: (path) => known?.get(path),
    stop() {
      thread?.stop();
    },
    async endThread() {
      await thread?.end();
    },
  };
}

function notesOf(
  files: ReadonlyMap<string, GraphFile>,
  unreadable: number,
): Readonly<Record<string, number>> {
  const notes: Record<string, number> = {};
  for (const { note } of files.values()) if (note !== undefined) notes[note] = (notes[note] ?? 0) + 1;
  if (unreadable > 0) notes.unreadable = unreadable;
  return notes;
}

/** How a graph was read, kept beside it. */
export interface IndexMark {
  /** Files that were read before are to be read anew: what is taken from them has changed since. */
  readonly sinceMs: number;
  /** The hash of what the folder's manifests say of imports; absent where some were resolved without them. */
  readonly context?: string;
}

type MarkTables = Pick<Tables, 'get' | 'set'>;

/** Goes up with what is taken from a file. */
const READING = 2;
const TABLE = 'memory';

async function readMark(tables: MarkTables, graph: string): Promise<IndexMark> {
  const mark = (await tables.get(TABLE, graph)) as Readonly<Record<string, Json>> | undefined;
  if (mark?.reading === READING && typeof mark.sinceMs === 'number')
    return { sinceMs: mark.sinceMs, ...(typeof mark.context === 'string' ? { context: mark.context } : {}) };
  const first = { sinceMs: mark === undefined ? 0 : Date.now() };
  await writeMark(tables, graph, first);
  return first;
}

const writeMark = (tables: MarkTables, graph: string, mark: IndexMark): Promise<void> =>
  tables.set(TABLE, graph, { reading: READING, ...mark });

const hashOf = ({ packages, configs, goModules, crates }: ResolveContext): string =>
  createHash('sha256')
    .update(JSON.stringify([[...packages], configs, goModules, [...crates]]))
    .digest('hex');

/** Imports that are asked for at once, and between two of which others of this thread have their turn. */
const PAGE = 2_000;
/** Longer ones are not kept whole: they stay as they were first resolved. */
const MAX_SPECIFIER = 500;

/**
 * Looks again where all imports lead, now that files have come or gone, or manifests say something else: also those that
 * led somewhere may lead elsewhere, as `./a` from `a.js` to a new `a.ts`.
 */
async function resolveAgain(store: GraphStore, graph: string, context: ResolveContext): Promise<void> {
  // As the store has them now: another process may have brought files that this one has not seen.
  const known = new Map((await store.files(graph)).map((file) => [file.path, file]));
  const view = createResolveView(known.has.bind(known), () => known.keys());
  for (let after = 0; ; ) {
    const page = await store.imports(graph, after, PAGE);
    const changed: GraphResolvedImport[] = [];
    for (const { id, path, specifier, names, target: before } of page) {
      const language = known.get(path)?.language as Language | undefined;
      if (language === undefined || specifier.length >= MAX_SPECIFIER) continue;
      const found = resolveImport({ specifier, names }, path, language, view, context);
      const target = found === path ? undefined : found;
      if (target !== before) changed.push({ id, ...(target === undefined ? {} : { target }) });
    }
    if (changed.length > 0) await store.resolve(graph, changed);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}
