import type { Json } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { stopped } from './access/stopped.ts';
import { plainJson } from './output/plain-json.ts';
import { placedCause, thrownMessage } from './output/thrown-message.ts';
import type { TargetCall } from './target.ts';

/** A user's function: a tool's `run(parameters, {agent, signal, idempotencyKey, progress})`. */
export type Run = (parameters: unknown, context: unknown) => unknown;

export interface UserCode {
  /** For messages: `tool "search"`. */
  readonly what: string;
  readonly maxBytes: number;
  /** Whether its progress is shown. */
  readonly stream: boolean;
}

/**
 * Calls a user's function for one try of an action. Rejects with a RuntimeError, whatever the function throws. The result
 * is JSON, of what `judge` makes of it. One asynchronous function for all of it: each more costs a step its share.
 */
export async function runUserCode(
  run: Run,
  parameters: unknown,
  call: TargetCall,
  { what, maxBytes, stream }: UserCode,
  judge?: (result: unknown) => unknown,
): Promise<Json> {
  const { signal } = call;
  if (signal.aborted) throw stopped(what, signal); // its code would wait for an abort that has been
  let ended = false;
  const context = new UserContext(call, (data) => {
    if (!ended && stream) call.progress(plainJson(data, `the progress of ${what}`, maxBytes));
  });
  let result: unknown;
  try {
    result = await run(parameters, context);
  } catch (thrown) {
    if (signal.aborted) throw stopped(what, signal);
    throw thrown instanceof RuntimeError ? thrown : codeFailed(what, thrown);
  } finally {
    ended = true;
  }
  return plainJson(judge === undefined ? result : await judge(result), what, maxBytes);
}

/**
 * What a user's function gets beside its parameters. A class, because the snapshot is made only if it is looked at, and
 * a getter in a literal would be made anew for each call: that took a tenth of the time of a step.
 */
class UserContext {
  readonly #call: TargetCall;
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  readonly progress: (data: unknown) => void;

  constructor(call: TargetCall, progress: (data: unknown) => void) {
    this.#call = call;
    this.signal = call.signal;
    this.idempotencyKey = call.idempotencyKey;
    this.progress = progress;
  }

  get agent() {
    return this.#call.agent();
  }
}

const codeFailed = (what: string, thrown: unknown) =>
  new RuntimeError('tool_failed', `The code of ${what} failed: ${thrownMessage(thrown)}`, {
    cause: placedCause(thrown),
  });
