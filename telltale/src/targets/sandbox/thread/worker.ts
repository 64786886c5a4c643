import { isMainThread, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ANSWERED, ASKED, type FromThread, type RunRequest, STOP, type ThreadData } from '../messages.ts';
import { loadEngine, openMachine } from './machine.ts';
import { emptyScriptCache, runScript } from './run-script.ts';

/** Characters that one run may write to its console; what comes behind them is dropped. */
const MAX_LOGGED = 1024 * 1024;

/** The thread's entry: one script at a time, each on a machine that has seen no other. */
if (!isMainThread) {
  const { cells, port } = workerData as ThreadData;
  const tell = (message: FromThread) => port.postMessage(message);
  const cache = emptyScriptCache();
  let current: RunRequest | undefined;
  let deadline = Number.POSITIVE_INFINITY;
  let interrupted = false;
  let logged = 0;

  const host = {
    isOver() {
      if (current === undefined) return false; // the prelude of a machine
      interrupted ||= performance.now() > deadline || Atomics.load(cells, STOP) === 1;
      return interrupted;
    },
    now: () => current?.now ?? Date.now(),
    log(text: string) {
      if (current?.logs !== true || logged > MAX_LOGGED) return;
      logged += text.length + 1;
      tell({ kind: 'log', id: current.id, text: logged > MAX_LOGGED ? '… [the rest is not shown] …' : text });
    },
  };
  const engine = await loadEngine();
  let machine = await openMachine(engine, host);
  tell({ kind: 'ready' });

  // The thread sleeps between two scripts rather than turn its event loop: that is most of the way there and back.
  for (let seen = 0; ; seen++) {
    Atomics.wait(cells, ASKED, seen);
    const request = receiveMessageOnPort(port)?.message as RunRequest;
    const began = performance.now();
    current = request;
    deadline = began + request.timeMs;
    interrupted = false;
    logged = 0;
    const outcome = runScript(machine, request, cache, () => interrupted);
    current = undefined;
    tell({ kind: 'done', id: request.id, outcome, ms: performance.now() - began });
    Atomics.add(cells, ANSWERED, 1);
    Atomics.notify(cells, ANSWERED);
    if (machine.isSpent()) machine = await openMachine(engine, host);
  }
}
