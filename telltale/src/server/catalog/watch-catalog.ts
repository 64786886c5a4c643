import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { AgentCatalog } from './agent-catalog.ts';

/** Editors write a file in several steps, so a change counts after this long without another one. */
const QUIET_MS = 100;
/** The most folders that are watched. */
const MAX_FOLDERS = 256;
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', 'dist']);

export interface CatalogWatch {
  close(): void;
}

/**
 * Reloads a catalog when something changes in the folders of its manifests, one level below them, or in `roots`, where
 * new files may appear. Watches folders instead of files, because editors replace files.
 */
export function watchCatalog(catalog: AgentCatalog, { roots, clock, onError }: WatchOptions): CatalogWatch {
  const watchers = new Map<string, FSWatcher>();
  let disarm: (() => void) | undefined;
  let closed = false;

  const changed = () => {
    disarm?.();
    disarm = clock.after(QUIET_MS, () => {
      if (closed) return;
      catalog.reload().then(settle, onError);
    });
  };
  const settle = () => {
    if (closed) return;
    const wanted = new Set(foldersOf(catalog, roots));
    for (const [folder, watcher] of watchers)
      if (!wanted.has(folder)) {
        watcher.close();
        watchers.delete(folder);
      }
    for (const folder of wanted) if (!watchers.has(folder)) add(folder);
  };
  const add = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, changed);
      // A deleted folder ends its watcher. The watcher of the folder above notices when it comes back.
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') onError(thrown);
    }
  };
  settle();
  return {
    close() {
      closed = true;
      disarm?.();
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

interface WatchOptions {
  readonly roots: readonly string[];
  readonly clock: Pick<Clock, 'after'>;
  readonly onError: (thrown: unknown) => void;
}

function foldersOf(catalog: AgentCatalog, roots: readonly string[]): readonly string[] {
  const own = catalog
    .list()
    .flatMap(({ path, problems, agent }) => [
      dirname(path),
      ...(agent?.project.manifests.map(({ file }) => dirname(file)) ?? []),
      ...problems.map(({ file }) => dirname(file)),
    ]);
  const first = [...new Set([...roots, ...own])];
  return [...new Set([...first, ...first.flatMap(below)])].slice(0, MAX_FOLDERS);
}

function below(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !PASSED_OVER.has(entry.name))
      .map(({ name }) => join(folder, name));
  } catch {
    return []; // it is gone, and the watcher of the folder above notices
  }
}
