import { isMainThread, receiveMessageOnPort, workerData } from 'node:worker_threads';
import {
  ASKED,
  IN_BOX,
  POSTED,
  type PostedRequest,
  REQUEST,
  type RunRequest,
  type SandboxFromThread,
  STATE,
  STOP,
  type ThreadData,
  WAITED_FOR,
} from '../messages.ts';
import type { SandboxOutcome } from '../outcome.ts';
import { openBox } from '../shared-box.ts';
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
  const { cells, box: memory, port } = workerData as ThreadData;
  const box = openBox(memory);
  /** By the numbers that they were sent with: as many as the other side remembers. */
  const texts: string[] = [];
  const textOf = (number: number): string => texts[number] as string;
  const tell = (message: SandboxFromThread) => port.postMessage(message);
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
  const takeRequest = (): RunRequest => {
    if (Atomics.load(cells, REQUEST) === IN_BOX) return box.takeRequest(textOf);
    const posted = receiveMessageOnPort(port)?.message as PostedRequest;
    const { request, numbers } = posted;
    const { source, module, frozen } = request;
    if (numbers.source !== undefined) texts[numbers.source] = source;
    if (numbers.module !== undefined) texts[numbers.module] = module as string;
    if (numbers.frozen !== undefined) texts[numbers.frozen] = frozen;
    return request;
  };
  const answer = ({ id, logs }: RunRequest, outcome: SandboxOutcome, ms: number): void => {
    // What it wrote to its console was posted, and comes first.
    const isInBox = outcome.kind === 'value' && !logs && box.putResult(outcome.json, ms);
    // Before it is posted: then the next request may be there already, and its state is not this one's.
    const isWaitedFor =
      Atomics.compareExchange(cells, STATE, WAITED_FOR, isInBox ? IN_BOX : POSTED) === WAITED_FOR;
    if (!isWaitedFor || !isInBox) tell({ kind: 'done', id, outcome, ms });
    if (isWaitedFor) Atomics.notify(cells, STATE);
  };
  const engine = await loadEngine();
  let machine = await openMachine(engine, host);
  tell({ kind: 'ready' });

  // The thread sleeps between two scripts rather than turn its event loop: that is most of the way there and back.
  for (let seen = 0; ; seen++) {
    Atomics.wait(cells, ASKED, seen);
    const request = takeRequest();
    began = performance.now();
    looks = 0;
    current = request;
    interrupted = false;
    logged = 0;
    const outcome = runScript(machine, request, cache, () => interrupted);
    current = undefined;
    const ms = performance.now() - began;
    answer(request, outcome, looks < MIN_LOOKS ? ms / PATIENCE : ms);
    if (machine.isSpent()) machine = await openMachine(engine, host);
  }
}
