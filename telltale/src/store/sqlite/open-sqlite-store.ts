import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { builtFile } from '../../lib/built-file.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import { fromJson } from '../grouped/batch.ts';
import { type BackendListener, createGroupedStore, type StoreBackend } from '../grouped/grouped-store.ts';
import type { AppendOp, FromBackend, ToBackend, WriteRequest } from '../grouped/messages.ts';
import type { Store } from '../store.ts';
import { createProcessView, type ProcessViewOptions } from './process-view.ts';
import { threadEnded } from './sqlite-errors.ts';

export interface SqliteStoreOptions extends ProcessViewOptions {
  readonly path: string;
  /** `power` (the default) survives the plug, `process` kill -9. */
  readonly durability?: 'power' | 'process';
  readonly clock: Pick<Clock, 'now'>;
  /** How long another program's lock on the file is waited for. */
  readonly lockTimeoutMs?: number;
  /** The file may grow to so many pages of 4 KiB; then it is full. */
  readonly maxPages?: number;
  /** Whether a file that cannot be written is opened all the same, to be read: every write is then refused. */
  readonly mayOnlyRead?: boolean;
}

const LOCK_TIMEOUT_MS = 10_000;

/**
 * Opens the file, or makes it and its folder. Rejects with `store_newer`, `store_foreign`, `store_damaged`,
 * `store_locked`, `store_unwritable` or `store_full`, and has then changed nothing in the file.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { durability = 'power', lockTimeoutMs = LOCK_TIMEOUT_MS, maxPages = null } = options;
  const { mayOnlyRead = false } = options;
  const view = createProcessView(options);
  const path = resolve(options.path);
  const thread = await startStoreThread({
    path,
    durability,
    lockTimeoutMs,
    maxPages,
    mayOnlyRead,
    ...view.self,
  });
  const location = `sqlite:${options.path}`;
  const openGraphs = async () => {
    const { startGraphThread } = await import('./graph/start-graph-thread.ts');
    return startGraphThread({ path, durability, lockTimeoutMs, maxPages }, location);
  };
  return createGroupedStore({ location, clock: options.clock, backend: thread, view, openGraphs });
}

const FILE = builtFile(new URL('./thread/worker.ts', import.meta.url));

/** Resolves when the file is open; rejects with the reason why it cannot be. */
export function startStoreThread(settings: ThreadSettings): Promise<StoreBackend> {
  const worker = new Worker(FILE, {
    name: 'telltale-store',
    workerData: settings,
    // Node 22 warns that node:sqlite is experimental; users can do nothing about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  let isHeld = true;
  let listener: BackendListener | undefined;
  /** Why it ended: it could not open the file, it broke, or it could not tidy up when it was closed. */
  let failure: RuntimeError | undefined;
  let hasEnded = false;
  let closed: (() => void) | undefined;

  const setHeld = (held: boolean) => {
    if (held === isHeld) return;
    isHeld = held;
    if (held) worker.ref();
    else worker.unref();
  };
  const thread: StoreBackend = {
    listen: (to) => {
      listener = to;
    },
    post: (message) => worker.postMessage(message.kind === 'group' ? packGroup(message) : message),
    hold: () => setHeld(true),
    letGo: () => setHeld(false),
    close() {
      setHeld(true);
      return new Promise((resolve, reject) => {
        closed = () => (failure === undefined ? resolve() : reject(failure));
        if (hasEnded) closed();
        else worker.postMessage({ kind: 'close' } satisfies ToBackend);
      });
    },
  };

  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromBackend) => {
      if (message.kind === 'opened') {
        setHeld(false);
        resolve(thread);
      } else if (message.kind === 'refused' || message.kind === 'closed')
        failure = message.error === undefined ? undefined : fromJson(message.error);
      else listener?.received(message);
    });
    worker.on('error', (error: unknown) => {
      failure = threadEnded(settings.path, error instanceof Error ? error.message : String(error), error);
    });
    worker.on('exit', (code) => {
      hasEnded = true;
      if (closed !== undefined) return closed();
      failure ??= threadEnded(settings.path, `exit code ${code}`);
      listener?.died(failure);
      reject(failure);
    });
  });
}

type SqliteStoreGroup = Extract<ToBackend, { readonly kind: 'group' }>;

/**
 * A group on its way to the thread. What is copied between threads costs by the object: plain appends, which nearly all
 * are, become numbers in one array and texts in another, and what is left stands beside them with its place.
 */
export interface PackedGroup extends Omit<SqliteStoreGroup, 'kind' | 'writes'> {
  readonly kind: 'packed';
  /** Of each append: its place, stream, epoch, expectedSeq and count. */
  readonly numbers: Float64Array;
  readonly bodies: readonly string[];
  readonly others: readonly (readonly [place: number, write: AppendOp | WriteRequest])[];
}

const NUMBERS = 5;

export function packGroup({ now, writes, reads }: SqliteStoreGroup): PackedGroup {
  const numbers = new Float64Array(writes.length * NUMBERS);
  const bodies: string[] = [];
  const others: [number, AppendOp | WriteRequest][] = [];
  let at = 0;
  for (let place = 0; place < writes.length; place++) {
    const write = writes[place] as AppendOp | WriteRequest;
    if (!isPlain(write)) {
      others.push([place, write]);
      continue;
    }
    numbers[at++] = place;
    for (let field = 0; field < NUMBERS - 1; field++) numbers[at++] = write[field] as number;
    bodies.push(write[4]);
  }
  return { kind: 'packed', now, reads, numbers: numbers.subarray(0, at), bodies, others };
}

export function unpackGroup({ now, reads, numbers, bodies, others }: PackedGroup): SqliteStoreGroup {
  const writes: (AppendOp | WriteRequest)[] = new Array(bodies.length + others.length);
  for (const [place, write] of others) writes[place] = write;
  let at = 0;
  for (const body of bodies) {
    const next = () => numbers[at++] as number;
    writes[next()] = [next(), next(), next(), next(), body, null, null, null, null];
  }
  return { kind: 'group', now, writes, reads };
}

/** Nothing but events: no status, no messages consumed, no writes to tables. */
const isPlain = (write: AppendOp | WriteRequest): write is AppendOp =>
  Array.isArray(write) && write[5] === null && write[6] === null && write[7] === null && write[8] === null;

/** What the thread is started with. */
export interface ThreadSettings {
  readonly path: string;
  readonly durability: 'power' | 'process';
  readonly lockTimeoutMs: number;
  readonly maxPages: number | null;
  /** Whether a file that cannot be written is opened to be read. */
  readonly mayOnlyRead: boolean;
  readonly pid: number;
  readonly startedAt: number;
  readonly place: string;
}
