import type { Clock } from '../../kernel/clock.ts';
import type { ModelEnd } from '../model.ts';
import { firstTokenLate, modelCancelled, modelFailed } from '../model-errors.ts';
import { startWatchdog } from './watchdog.ts';

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
