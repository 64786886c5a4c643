import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, RunRequest, ThreadData } from '../messages.ts';
import { loadEngine, openMachine } from './machine.ts';
import { runScript, type ScriptCache } from './run-script.ts';

/** Characters that one run may write to its console; what comes behind them is dropped. */
const MAX_LOGGED = 1024 * 1024;

/** The thread's entry: one script at a time, each on a machine that has seen no other. */
if (parentPort !== null) {
  const port = parentPort;
  const { stop } = workerData as ThreadData;
  const tell = (message: FromThread) => port.postMessage(message);
  const cache: ScriptCache = new Map();
  let current: RunRequest | undefined;
  let deadline = Number.POSITIVE_INFINITY;
  let interrupted = false;
  let logged = 0;

  const host = {
    isOver() {
      if (current === undefined) return false; // the prelude of a machine
      interrupted ||= performance.now() > deadline || Atomics.load(stop, 0) === 1;
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
  let opening = openMachine(engine, host);
  await opening;

  port.on('message', async (request: RunRequest) => {
    const machine = await opening;
    current = request;
    deadline = performance.now() + request.timeMs;
    interrupted = false;
    logged = 0;
    const outcome = runScript(machine, request, cache, () => interrupted);
    current = undefined;
    tell({ kind: 'done', id: request.id, outcome });
    if (machine.isSpent()) opening = openMachine(engine, host);
  });
  tell({ kind: 'ready' });
}
