import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../lib/built-file.ts';
import type { RuntimeError } from '../../../lib/errors.ts';
import { fromJson } from '../../grouped/batch.ts';
import { MAX_QUEUED, storeClosed, storeOverloaded } from '../../store-errors.ts';
import { threadEnded } from '../sqlite-errors.ts';
import type {
  FromGraphThread,
  GraphArgs,
  GraphOp,
  GraphReply,
  GraphRequest,
  GraphResult,
  GraphSettings,
  ToGraphThread,
} from './graph-store.ts';
import { createGraphStore, type OpenGraphs } from './graph-store.ts';

const FILE = builtFile(new URL('./thread/worker.ts', import.meta.url));

interface GraphThreadWaiting {
  readonly resolve: (value: GraphResult<GraphOp>) => void;
  readonly reject: (error: RuntimeError) => void;
}

/**
 * Opens the graphs' tables in a thread of their own, so that neither a session nor the log's commits wait for a search.
 * Rejects with the reason why they cannot be opened.
 */
export function startGraphThread(settings: GraphSettings, location: string): Promise<OpenGraphs> {
  const worker = new Worker(FILE, {
    name: 'telltale-graph',
    workerData: settings,
    // Node 22 warns that node:sqlite is experimental; users can do nothing about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const waiting = new Map<number, GraphThreadWaiting>();
  let gathered: GraphRequest[] = [];
  let last = 0;
  let dead: RuntimeError | undefined;
  let isClosing = false;
  let ended: (() => void) | undefined;

  const post = (message: ToGraphThread) => worker.postMessage(message);
  const flush = () => {
    const requests = gathered;
    gathered = [];
    if (dead === undefined && requests.length > 0) post({ kind: 'requests', requests });
  };

  const ask = <Op extends GraphOp>(op: Op, ...args: GraphArgs<Op>): Promise<GraphResult<Op>> => {
    if (isClosing) return Promise.reject(storeClosed(location));
    if (dead !== undefined) return Promise.reject(dead);
    if (waiting.size >= MAX_QUEUED)
      return Promise.reject(storeOverloaded(location, `${waiting.size} requests to its graphs`));
    return new Promise((resolve, reject) => {
      const id = ++last;
      if (waiting.size === 0) worker.ref(); // the process stays for what is asked
      // The thread answers each request with the result of its operation (`graph-rows.ts`).
      waiting.set(id, { resolve: resolve as GraphThreadWaiting['resolve'], reject });
      if (gathered.length === 0) queueMicrotask(flush);
      gathered.push({ id, op, args });
    });
  };

  const replied = (reply: GraphReply) => {
    const asker = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0 && !isClosing) worker.unref();
    if ('error' in reply) asker?.reject(fromJson(reply.error));
    else asker?.resolve(reply.value);
  };

  const close = (): Promise<void> => {
    isClosing = true;
    worker.ref();
    flush();
    return new Promise((resolve) => {
      ended = resolve;
      if (dead !== undefined) resolve();
      else post({ kind: 'close' });
    });
  };

  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromGraphThread) => {
      switch (message.kind) {
        case 'opened':
          worker.unref();
          resolve({ graphs: createGraphStore(ask), close });
          return;
        case 'refused':
          dead = fromJson(message.error);
          return;
        case 'reply':
          replied(message.reply);
      }
    });
    worker.on('error', (error: unknown) => {
      dead ??= threadEnded(location, error instanceof Error ? error.message : String(error), error);
    });
    worker.on('exit', (code) => {
      const why = dead ?? (isClosing ? storeClosed(location) : threadEnded(location, `exit code ${code}`));
      dead = why;
      for (const { reject: refuse } of waiting.values()) refuse(why);
      waiting.clear();
      ended?.();
      reject(why);
    });
  });
}
