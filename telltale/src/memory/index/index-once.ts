import type { Clock } from '../../kernel/clock.ts';
import type { GraphFile, GraphStore } from '../../store/graph.ts';
import type { Tables } from '../../store/store.ts';
import type { IndexProgress, IndexReport } from '../memory.ts';
import { commitOf } from './git-folder.ts';
import { hashOf, type IndexMark, readMark, writeMark } from './index-mark.ts';
import type { IndexThread } from './index-thread.ts';
import { realFolder } from './real-folder.ts';
import { EMPTY_CONTEXT, type ResolveContext } from './resolve/resolve-context.ts';
import { resolveAgain } from './resolve-again.ts';
import { type RunReport, runIndex } from './run-index.ts';

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
export interface Scope {
  /** The whole folder, or only `below`. */
  readonly isFull: boolean;
  readonly below: ReadonlySet<string>;
  readonly byName: ReadonlySet<string>;
  isStopped(): boolean;
  onProgress(progress: IndexProgress): void;
}

/** Runs passes, one at a time, and keeps what the next one needs: the thread, and what is known. */
export interface IndexOnce {
  run(scope: Scope): Promise<IndexReport>;
  known(path: string): GraphFile | undefined;
  /** The pass in hand ends soon, and what it has read is written. */
  stop(): void;
  endThread(): Promise<void>;
}

export function createIndexOnce(edges: IndexDeps): IndexOnce {
  const { store, tables, graph, folder, clock } = edges;
  let thread: IndexThread | undefined;
  let known: Map<string, GraphFile> | undefined;
  /** Known once the whole folder was looked at. */
  let context: ResolveContext | undefined;

  const run = async (scope: Scope): Promise<IndexReport> => {
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
