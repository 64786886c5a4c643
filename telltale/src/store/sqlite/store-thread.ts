import { Worker } from 'node:worker_threads';
import { builtFile } from '../../kernel/built-file.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { BackendListener, StoreBackend } from '../grouped/backend.ts';
import { fromJson } from '../grouped/from-json.ts';
import type { FromBackend, ToBackend } from '../grouped/messages.ts';
import { packGroup } from './pack-group.ts';
import { threadEnded } from './sqlite-errors.ts';
import type { ThreadSettings } from './thread-settings.ts';

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
