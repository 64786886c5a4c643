import type { GraphFile } from '../../store/graph.ts';
import type { IndexOptions, IndexProgress, IndexReport } from '../memory.ts';
import { memoryClosed } from '../memory-errors.ts';
import { createIndexOnce, type IndexDeps } from './index-once.ts';

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
