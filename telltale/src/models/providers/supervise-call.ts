import type { Clock } from '../../lib/clock.ts';
import type { ModelEnd } from '../model.ts';
import { firstTokenLate, modelCancelled, modelFailed } from '../model-errors.ts';

export interface SupervisedCall {
  /** Aborted as soon as the call is over, for whatever reason. Nothing more is passed to the sink then. */
  readonly signal: AbortSignal;
  /** Call this for the first output and everything after it. */
  readonly touch: () => void;
  /** Everything that matters has arrived, so the end of the stream is awaited only briefly. */
  readonly closing: (end: ModelEnd) => void;
}

export interface CallLimits {
  readonly id: string;
  readonly clock: Clock;
  readonly firstMs: number;
  readonly idleMs: number;
  /** The caller's signal. */
  readonly signal: AbortSignal;
}

/** A stream that is read to its end leaves a reusable connection. */
const CLOSING_MS = 200;

/**
 * Runs a call of a provider. It ends when `work` does, when the caller aborts, or when nothing arrives for too long. A
 * provider that ignores its signal blocks nobody.
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
  /** Something arrived. */
  touch(): void;
  /** From now on, it fires after `ms`, whatever arrives. */
  endIn(ms: number): void;
  stop(): void;
}

/**
 * Calls `onSilence` when nothing has arrived for some time: first `firstMs`, then `idleMs`. An arrival costs only a
 * look at the clock, because the timer itself checks whether it fired too early.
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
