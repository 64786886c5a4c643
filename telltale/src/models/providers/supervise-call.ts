import type { Clock } from '../../lib/clock.ts';
import type { ModelEnd } from '../model.ts';
import { firstTokenLate, modelCancelled, modelFailed } from '../model-errors.ts';

export interface SupervisedCall {
  /** Aborted as soon as the call is over, for whatever reason: then nothing more is given to the sink. */
  readonly signal: AbortSignal;
  /** Something came in behind the first word, or that itself. */
  readonly touch: () => void;
  /** All that matters has come in; the stream's own end is waited for only shortly. */
  readonly closing: (end: ModelEnd) => void;
}

export interface CallLimits {
  readonly id: string;
  readonly clock: Clock;
  readonly firstMs: number;
  readonly idleMs: number;
  /** The caller's. */
  readonly signal: AbortSignal;
}

/** The end of a stream that is read to it leaves a connection that can be used again. */
const CLOSING_MS = 200;

/**
 * Runs a call of a provider. It is over when `work` is, when the caller aborts, or when nothing comes in for too
 * long; a provider that does not care for its signal holds up nobody.
 */
export async function superviseCall(
  { id, clock, firstMs, idleMs, signal }: CallLimits,
  work: (call: SupervisedCall) => Promise<ModelEnd>,
): Promise<ModelEnd> {
  if (signal.aborted) throw modelCancelled(id);
  const call = new AbortController();
  let ended: ModelEnd | undefined;
  let interrupt: (error: Error) => void = () => {};
  const interrupted = new Promise<ModelEnd>((resolve, reject) => {
    interrupt = (error) => {
      if (ended === undefined) reject(error);
      else resolve(ended);
      call.abort();
    };
  });
  const onAbort = () => interrupt(modelCancelled(id));
  signal.addEventListener('abort', onAbort, { once: true });
  const watchdog = startWatchdog(clock, { firstMs, idleMs }, (silentMs, isFirst) =>
    interrupt(tooSlow(id, silentMs, isFirst)),
  );
  const closing = (end: ModelEnd) => {
    ended = end;
    watchdog.endIn(CLOSING_MS);
  };
  try {
    return await Promise.race([work({ signal: call.signal, touch: watchdog.touch, closing }), interrupted]);
  } finally {
    watchdog.stop();
    signal.removeEventListener('abort', onAbort);
    call.abort();
  }
}

const tooSlow = (id: string, silentMs: number, isFirst: boolean) =>
  isFirst
    ? firstTokenLate(id, silentMs)
    : modelFailed('model_timeout', `${id} stopped sending for ${Math.round(silentMs / 1000)} s.`);

export interface Watchdog {
  /** Something came in. */
  touch(): void;
  /** From now on it barks after `ms`, whatever comes in. */
  endIn(ms: number): void;
  stop(): void;
}

/**
 * Calls `bark` when nothing has come in for a time: `firstMs` at first, then `idleMs`. Something that comes in costs
 * a look at the clock; the timer finds out for itself that it fired too early.
 */
function startWatchdog(
  clock: Clock,
  { firstMs, idleMs }: { readonly firstMs: number; readonly idleMs: number },
  bark: (silentMs: number, isFirst: boolean) => void,
): Watchdog {
  let limit = firstMs;
  let isFirst = true;
  let last = clock.monotonic();
  const check = () => {
    const silent = clock.monotonic() - last;
    if (silent >= limit) bark(silent, isFirst);
    else cancel = clock.after(limit - silent, check);
  };
  const arm = (ms: number) => {
    cancel();
    limit = ms;
    last = clock.monotonic();
    cancel = clock.after(ms, check);
  };
  let cancel = clock.after(limit, check);
  return {
    touch() {
      if (isFirst) {
        isFirst = false;
        arm(idleMs);
      } else last = clock.monotonic();
    },
    endIn: arm,
    stop: () => cancel(),
  };
}
