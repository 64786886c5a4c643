import { isMainThread, receiveMessageOnPort, workerData } from 'node:worker_threads';
import {
  ASKED,
  IN_BUFFER,
  POSTED,
  type PostedRequest,
  REQUEST,
  type RunRequest,
  STATE,
  STOP,
  type ThreadData,
  type ThreadMessage,
  WAITED_FOR,
} from '../messages.ts';
import type { SandboxOutcome } from '../sandbox.ts';
import { openSharedBuffer } from '../shared-buffer.ts';
import { loadEngine, openMachine } from './machine.ts';
import { emptyScriptCache, runScript } from './run-script.ts';

/** The most characters one run may write to its console. The rest is dropped. */
const MAX_LOGGED = 1024 * 1024;

/**
 * How often the engine must check the clock before time counts against a script. It checks every 10,000 steps, so this
 * is some milliseconds of work. On an overloaded machine, a script that has hardly started may be long past its limit.
 */
const MIN_LOOKS = 20;
/** But only up to this multiple of its limit. */
const PATIENCE = 10;

/** The entry of the thread. It runs one script at a time, each on a machine that has no trace of another. */
if (!isMainThread) {
  const { cells, buffer: memory, port } = workerData as ThreadData;
  const box = openSharedBuffer(memory);
  /** Texts by their numbers, the same ones that the other side remembers. */
  const texts: string[] = [];
  const textOf = (number: number): string => texts[number] as string;
  const post = (message: ThreadMessage) => port.postMessage(message);
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
      post({ kind: 'log', id: current.id, text: logged > MAX_LOGGED ? '… [the rest is not shown] …' : text });
    },
  };
  const takeRequest = (): RunRequest => {
    if (Atomics.load(cells, REQUEST) === IN_BUFFER) return box.takeRequest(textOf);
    const posted = receiveMessageOnPort(port)?.message as PostedRequest;
    const { request, numbers } = posted;
    const { source, module, frozen } = request;
    if (numbers.source !== undefined) texts[numbers.source] = source;
    if (numbers.module !== undefined) texts[numbers.module] = module as string;
    if (numbers.frozen !== undefined) texts[numbers.frozen] = frozen;
    return request;
  };
  const answer = ({ id, logs }: RunRequest, outcome: SandboxOutcome, ms: number): void => {
    // Console output was posted, so the answer must be posted after it.
    const isInBox = outcome.kind === 'value' && !logs && box.putResult(outcome.json, ms);
    // Store the state before posting. Afterwards the next request may be there already, with its own state.
    const isWaitedFor =
      Atomics.compareExchange(cells, STATE, WAITED_FOR, isInBox ? IN_BUFFER : POSTED) === WAITED_FOR;
    if (!isWaitedFor || !isInBox) post({ kind: 'done', id, outcome, ms });
    if (isWaitedFor) Atomics.notify(cells, STATE);
  };
  const engine = await loadEngine();
  let machine = await openMachine(engine, host);
  post({ kind: 'ready' });

  // The thread sleeps between scripts instead of running its event loop, which would take most of the round trip.
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
