import { parentPort, workerData } from 'node:worker_threads';
import { RuntimeError } from '../../../lib/errors.ts';
import type { SourceParser } from '../../memory.ts';
import { languageOf } from '../../parse/language-of.ts';
import {
  type FromThread,
  type IndexThreadData,
  MAX_PATH_BYTES,
  PATH_BYTES,
  type PassRequest,
  STEP,
  STOP,
  TAKEN,
} from '../index-thread.ts';
import { BATCHES_AHEAD, IDLE_MS } from '../read-source.ts';
import { runPass } from './run-pass.ts';

interface ParserModule {
  createSourceParser(): SourceParser | Promise<SourceParser>;
}

const SEEN_EVERY_MS = 50;

/** The thread's entry: one pass at a time. What it cannot do ends it, and the other side sees at which file. */
if (parentPort !== null) {
  const port = parentPort;
  const { cells, current, parser: parserUrl } = workerData as IndexThreadData;
  const path = Buffer.from(current.buffer as SharedArrayBuffer, current.byteOffset, current.byteLength);
  const tell = (message: FromThread) => port.postMessage(message);
  const isStopped = () => Atomics.load(cells, STOP) === 1;
  // Where nothing has changed there is nothing to parse: only what has to be read pays for the grammars.
  const openParser = async () => ((await import(parserUrl)) as ParserModule).createSourceParser();
  let parser: Promise<SourceParser> | undefined;
  let idle: NodeJS.Timeout | undefined;

  const begin = (file: string | undefined) => {
    Atomics.store(cells, PATH_BYTES, file === undefined ? 0 : path.write(file.slice(0, MAX_PATH_BYTES)));
    Atomics.add(cells, STEP, 1);
  };
  const pass = async (request: PassRequest) => {
    const { id } = request;
    const ahead = Atomics.load(cells, TAKEN);
    let batches = 0;
    let saidAt = performance.now();
    await runPass(request, {
      languageOf,
      parser: () => (parser ??= openParser()),
      isStopped,
      seen(seen, toRead) {
        if (performance.now() - saidAt < SEEN_EVERY_MS) return;
        saidAt = performance.now();
        tell({ kind: 'seen', id, seen, toRead });
      },
      walked: (report) => tell({ kind: 'walked', id, ...report }),
      begin,
      send(batch) {
        tell({ kind: 'batch', id, ...batch });
        batches++;
        for (;;) {
          const taken = Atomics.load(cells, TAKEN);
          if (batches - (taken - ahead) < BATCHES_AHEAD || isStopped()) return;
          Atomics.wait(cells, TAKEN, taken);
        }
      },
    });
    tell({ kind: 'ended', id });
  };
  port.on('message', (request: PassRequest) => {
    clearTimeout(idle);
    void pass(request)
      .catch((thrown: unknown) => {
        // What has no code is of the parser's inside, which may be in any state now: the thread ends with it.
        if (!(thrown instanceof RuntimeError)) throw thrown;
        tell({ kind: 'failed', id: request.id, error: thrown.toJSON() });
      })
      .then(() => {
        idle = setTimeout(() => port.close(), IDLE_MS);
      });
  });
  idle = setTimeout(() => port.close(), IDLE_MS);
}
