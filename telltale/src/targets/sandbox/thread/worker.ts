import { isMainThread, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ANSWERED, ASKED, type FromThread, type RunRequest, STOP, type ThreadData } from '../messages.ts';
import { loadEngine, openMachine } from './machine.ts';
import { emptyScriptCache, runScript } from './run-script.ts';

/** Characters that one run may write to its console; what comes behind them is dropped. */
const MAX_LOGGED = 1024 * 1024;

/**
 * Looks at the clock, of which the engine takes one every 10,000 steps, before time counts against a script: some
 * milliseconds of work. On a machine that is overloaded a script which hardly began may be long past its time.
 */
const MIN_LOOKS = 20;
/** Until so many times its limit. */
const PATIENCE = 10;

/** The thread's entry: one script at a time, each on a machine that has seen no other. */
if (!isMainThread) {
  const { cells, port } = workerData as ThreadData;
  const tell = (message: FromThread) => port.postMessage(message);
  const cache = emptyScriptCache();
  let current: RunRequest | undefined;
  let began = 0;
  let looks = 0;
  let interrupted = false;
  let logged = 0;

  const host = {
    isOver() {
      if (current === undefined) return false; // the prelude of a machine
      looks++;
      const ms = performance.now() - began;
      const isLate = ms > current.timeMs && (looks >= MIN_LOOKS || ms > current.timeMs * PATIENCE);
      interrupted ||= isLate || Atomics.load(cells, STOP) === 1;
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
    began = performance.now();
    looks = 0;
    current = request;
    interrupted = false;
    logged = 0;
    const outcome = runScript(machine, request, cache, () => interrupted);
    current = undefined;
    const ms = performance.now() - began;
    tell({ kind: 'done', id: request.id, outcome, ms: looks < MIN_LOOKS ? ms / PATIENCE : ms });
    Atomics.add(cells, ANSWERED, 1);
    Atomics.notify(cells, ANSWERED);
    if (machine.isSpent()) machine = await openMachine(engine, host);
  }
}
