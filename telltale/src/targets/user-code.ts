import type { Json } from '../kernel/json.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
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
 * is JSON, of what `judge` makes of it. What comes without a promise is not waited for: an instant tool's step has none
 * to spare.
 */
export function runUserCode(
  run: Run,
  parameters: unknown,
  call: TargetCall,
  code: UserCode,
  judge?: (result: unknown) => unknown,
): Promise<Json> {
  const { signal } = call;
  const { what, maxBytes } = code;
  if (signal.aborted) return Promise.reject(stopped(what, signal)); // its code would wait for an abort that has been
  const context = new UserContext(call, code);
  let result: unknown;
  try {
    result = run(parameters, context);
    if (judge !== undefined || isThenable(result)) return finished(result, context, call, code, judge);
  } catch (thrown) {
    UserContext.end(context);
    return Promise.reject(failure(what, signal, thrown));
  }
  UserContext.end(context);
  try {
    return Promise.resolve(plainJson(result, what, maxBytes));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

async function finished(
  running: unknown,
  context: UserContext,
  { signal }: TargetCall,
  { what, maxBytes }: UserCode,
  judge: ((result: unknown) => unknown) | undefined,
): Promise<Json> {
  let result: unknown;
  try {
    result = await running;
  } catch (thrown) {
    throw failure(what, signal, thrown);
  } finally {
    UserContext.end(context);
  }
  return plainJson(judge === undefined ? result : await judge(result), what, maxBytes);
}

const isThenable = (value: unknown): boolean =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value;

function failure(what: string, signal: AbortSignal, thrown: unknown): RuntimeError {
  if (signal.aborted) return stopped(what, signal);
  // Not by `instanceof`, which throws itself where a Proxy does not want to be looked at.
  const error = toRuntimeError(thrown);
  return error === thrown ? error : codeFailed(what, thrown);
}

/**
 * What a user's function gets beside its parameters. A class, because what few look at is made only if it is looked at,
 * and a getter in a literal would be made anew for each call: that took a tenth of the time of a step.
 */
class UserContext {
  readonly #call: TargetCall;
  readonly #code: UserCode;
  #ended = false;
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  // Its own: whoever spreads the context has it. No assignment, as the engine makes functions that are assigned to a
  // property in the old generation, where one that is over keeps its whole session until that is collected.
  readonly progress = (data: unknown): void => this.#show(data);

  constructor(call: TargetCall, code: UserCode) {
    this.#call = call;
    this.#code = code;
    this.signal = call.signal;
    this.idempotencyKey = call.idempotencyKey;
  }

  get agent() {
    return this.#call.agent();
  }

  #show(data: unknown): void {
    const { what, maxBytes, stream } = this.#code;
    if (!this.#ended && stream) this.#call.progress(plainJson(data, `the progress of ${what}`, maxBytes));
  }

  /** From here on its progress is not shown any more. Not a method: it is not for the user's code. */
  static end(context: UserContext): void {
    context.#ended = true;
  }
}

const codeFailed = (what: string, thrown: unknown) =>
  new RuntimeError('tool_failed', `The code of ${what} failed: ${thrownMessage(thrown)}`, {
    cause: placedCause(thrown),
  });
