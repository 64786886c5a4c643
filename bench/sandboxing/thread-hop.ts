import { isMainThread, Worker, workerData } from 'node:worker_threads';

/** A thread that does nothing but answer: what waking one and being woken by it costs. */
export interface ThreadHop {
  /** There and back. */
  hop(): void;
  close(): Promise<void>;
}

const ASKED = 0;
const ANSWERED = 1;
const OVER = -1;
/** Nothing is to hang here. */
const LOST_MS = 5_000;

export function openThreadHop(): ThreadHop {
  const cells = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL(import.meta.url), { workerData: cells });
  let asked = 0;
  return {
    hop() {
      asked++;
      Atomics.store(cells, ASKED, asked);
      Atomics.notify(cells, ASKED);
      while (Atomics.load(cells, ANSWERED) !== asked)
        if (Atomics.wait(cells, ANSWERED, asked - 1, LOST_MS) === 'timed-out')
          throw new Error('The thread does not answer.');
    },
    async close() {
      Atomics.store(cells, ASKED, OVER);
      Atomics.notify(cells, ASKED);
      await new Promise((resolve) => worker.once('exit', resolve));
    },
  };
}

function answer(cells: Int32Array<SharedArrayBuffer>): void {
  for (let seen = 0; ; ) {
    Atomics.wait(cells, ASKED, seen);
    const asked = Atomics.load(cells, ASKED);
    if (asked === OVER) return;
    if (asked === seen) continue;
    seen = asked;
    Atomics.store(cells, ANSWERED, seen);
    Atomics.notify(cells, ANSWERED);
  }
}

if (!isMainThread) answer(workerData as Int32Array<SharedArrayBuffer>);
