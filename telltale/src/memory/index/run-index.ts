import type { FileRecord, GraphFile, GraphStore } from '../../store/graph.ts';
import { type IndexProgress, type IndexReport, indexThreadEnded, type Language } from '../memory.ts';
import type { IndexThread } from './index-thread.ts';
import {
  type FromThread,
  type PassRequest,
  packFiles,
  type ReadBatch,
  type WalkReport,
} from './index-thread.ts';
import { MAX_RESTARTS } from './read-source.ts';
import { createResolveView, type ResolveContext, type ResolveView } from './resolve/read-context.ts';
import { pythonImports, resolveImport } from './resolve/resolve-import.ts';

export interface RunDeps {
  readonly store: GraphStore;
  readonly graph: string;
  readonly folder: string;
  /** One that lives: a new one where the last has ended. */
  thread(): IndexThread;
  isStopped(): boolean;
  onProgress(progress: IndexProgress): void;
  /** Before files come or go, so that imports of others may lead elsewhere. */
  onOther(): Promise<void>;
  /** Before files are written whose imports are resolved by the `context` of the plan. */
  onPart(): Promise<void>;
}

export interface Plan extends Pick<PassRequest, 'below' | 'byName' | 'staleBeforeMs'> {
  /** What the graph has; brought up to date as it is written. */
  readonly known: Map<string, GraphFile>;
  readonly context: ResolveContext;
}

export interface RunReport extends Omit<IndexReport, 'files' | 'notes' | 'ms'> {
  readonly unreadable: number;
  /** Whether files have come or gone, so that imports may lead elsewhere. */
  readonly isOther: boolean;
  /** Where the whole folder was looked at. */
  readonly context?: ResolveContext;
}

/** Paths that go to the store at once. */
const CHUNK = 1_000;

/** One pass: what the thread finds is written as it comes, so that whatever ends it, the next goes on from there. */
export async function runIndex(plan: Plan, edges: RunDeps): Promise<RunReport> {
  const { store, graph } = edges;
  const { known } = plan;
  const avoid: string[] = [];
  let { context } = plan;
  let view: ResolveView = createResolveView(known.has.bind(known), () => known.keys());
  let progress: IndexProgress = { seen: 0, toRead: 0, read: 0 };
  let parsed = 0;
  let symbols = 0;
  let removed = 0;
  let added = 0;
  let unreadable = 0;
  let stopped: string | undefined;
  let isWhole = false;
  const say = (news: Partial<IndexProgress>) => {
    progress = { ...progress, ...news };
    edges.onProgress(progress);
  };

  const remove = async (paths: readonly string[]) => {
    for (let at = 0; at < paths.length; at += CHUNK) {
      const some = paths.slice(at, at + CHUNK);
      await store.write(graph, { removed: some });
      for (const path of some) known.delete(path);
      removed += some.length;
    }
  };
  const walked = async (report: WalkReport) => {
    ({ stopped, unreadable } = report);
    if (report.context !== undefined) {
      context = report.context;
      isWhole = true;
    }
    const coming = new Set(report.added);
    // Also files that are still to be read: an import of one leads there from the first.
    view = createResolveView(
      (path) => known.has(path) || coming.has(path),
      () => new Set([...known.keys(), ...coming]),
    );
    say({ seen: report.seen, toRead: progress.read + report.toRead });
    if (report.added.length + report.removed.length > 0) await edges.onOther();
    else if (report.toRead > 0 && report.context === undefined) await edges.onPart();
    await remove(report.removed);
  };
  const batch = async ({ records, touched, gone, read, unreadable: failed }: ReadBatch) => {
    const resolved = records.map((record) => withTargets(record, view, context));
    if (records.length + touched.length > 0) await store.write(graph, { records: resolved, touched });
    if (gone.length > 0) await edges.onOther();
    await remove(gone);
    for (const record of records) {
      if (!known.has(record.path)) added++;
      known.set(record.path, fileOf(record));
      symbols += record.symbols.length;
    }
    for (const file of touched) known.set(file.path, { ...known.get(file.path), ...file });
    parsed += records.length;
    unreadable += failed;
    say({ read: progress.read + read });
  };
  const handle = async (message: FromThread): Promise<void> => {
    switch (message.kind) {
      case 'seen':
        return say({ seen: message.seen, toRead: progress.read + message.toRead });
      case 'walked':
        return walked(message);
      case 'batch':
        return batch(message);
      case 'ended':
      case 'failed':
        return;
    }
  };

  for (let restarts = 0; !edges.isStopped(); restarts++) {
    const request: Omit<PassRequest, 'id'> = {
      folder: edges.folder,
      below: plan.below,
      byName: plan.byName,
      staleBeforeMs: plan.staleBeforeMs,
      known: packFiles(known.values(), known.size),
      avoid,
    };
    const end = await edges.thread().run(request, handle);
    if (end.kind === 'ended' || edges.isStopped()) break;
    // One that had just gone to rest has not even begun.
    if (end.path === undefined && end.began) throw indexThreadEnded(edges.folder, end.cause);
    if (restarts >= MAX_RESTARTS) throw indexThreadEnded(edges.folder, end.cause);
    if (end.path !== undefined) avoid.push(end.path);
  }
  return {
    parsed,
    symbols,
    removed,
    unreadable,
    isOther: added + removed > 0,
    ...(isWhole ? { context } : {}),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

function withTargets(record: FileRecord, view: ResolveView, context: ResolveContext): FileRecord {
  const { path, language } = record;
  if (language === undefined || record.imports.length === 0) return record;
  const single = language === 'python' ? pythonImports(record.imports, path, view) : record.imports;
  const imports = single.map((each) => {
    const target = resolveImport(each, path, language as Language, view, context);
    return target === undefined || target === path ? each : { ...each, target };
  });
  return { ...record, imports };
}

/** Without what is in it, which would be kept for as long as the memory is open. */
function fileOf({ path, hash, size, mtimeMs, readAtMs, language, note }: FileRecord): GraphFile {
  return {
    path,
    hash,
    size,
    mtimeMs,
    readAtMs,
    ...(language === undefined ? {} : { language }),
    ...(note === undefined ? {} : { note }),
  };
}
