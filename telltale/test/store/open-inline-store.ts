import { createSystemClock } from '../../src/lib/clock.ts';
import { fromJson } from '../../src/store/grouped/batch.ts';
import type { BackendListener, StoreBackend } from '../../src/store/grouped/grouped-store.ts';
import { createGroupedStore } from '../../src/store/grouped/grouped-store.ts';
import type { FromBackend, ToBackend } from '../../src/store/grouped/messages.ts';
import { serveGraphHere } from '../../src/store/sqlite/graph/serve-graph-here.ts';
import type { SqliteStoreOptions } from '../../src/store/sqlite/open-sqlite-store.ts';
import { createProcessView } from '../../src/store/sqlite/process-view.ts';
import { serveStore } from '../../src/store/sqlite/thread/serve-store.ts';
import type { Store } from '../../src/store/store.ts';

/**
 * A store whose thread is this one, for tests of what is in the file: starting a thread costs more than most of them.
 * Throws what opening is refused with.
 */
export function openInlineStore(
  options: Partial<SqliteStoreOptions> & {
    readonly path: string;
    /** Told of each message to the thread. */
    readonly onPost?: (message: ToBackend) => void;
  },
): Store {
  const { path, clock = createSystemClock(), durability = 'process' } = options;
  const { lockTimeoutMs = 10_000, maxPages = null, mayOnlyRead = false } = options;
  const view = createProcessView({ pid: process.pid, ...options });
  let listener: BackendListener | undefined;
  let closed: () => void = () => undefined;
  const tell = (message: FromBackend) => {
    if (message.kind === 'refused') throw fromJson(message.error);
    if (message.kind === 'closed') closed();
    else setImmediate(() => listener?.received(structuredClone(message)));
  };
  const settings = { path, durability, lockTimeoutMs, maxPages, mayOnlyRead, ...view.self };
  const serve = serveStore(settings, tell, () => undefined);
  const thread: StoreBackend = {
    listen: (to) => {
      listener = to;
    },
    post(message) {
      options.onPost?.(message);
      setImmediate(() => serve?.(structuredClone(message)));
    },
    hold: () => undefined,
    letGo: () => undefined,
    close: () =>
      new Promise((resolve) => {
        closed = resolve;
        setImmediate(() => serve?.({ kind: 'close' }));
      }),
  };
  const location = `sqlite:${path}`;
  const openGraphs = async () => serveGraphHere(settings, location);
  return createGroupedStore({ location, clock, backend: thread, view, openGraphs });
}
