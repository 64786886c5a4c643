import type { Json } from '../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import type { PerformCall, SchedulerEdges } from './edges.ts';
import { timedOut } from './failures.ts';

/** How long a target may take to stop once its signal is aborted; then it is left to itself. */
export const GRACE_MS = 10_000;

export type Outcome =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly error: RuntimeError };

/** One try of an action, from the call of its target on. */
export interface Attempt {
  /** Aborts its signal, once; it then ends with `reason`, whatever the target says. */
  stop(reason: RuntimeError): void;
}

/**
 * Calls the target, now. `done` is called once, never before this returns: with what the target gave, or, where it was
 * stopped, when it has settled or its grace is over.
 */
export function attempt(
  edges: Pick<SchedulerEdges, 'clock' | 'perform'>,
  { action, input, attempt: number, cause }: Omit<PerformCall, 'signal'>,
  { timeoutMs, graceMs = GRACE_MS }: { readonly timeoutMs: number; readonly graceMs?: number | undefined },
  done: (outcome: Outcome) => void,
): Attempt {
  const controller = new AbortController();
  let stopped: RuntimeError | undefined;
  let over = false;
  let disarm = (): void => undefined;
  const finish = (outcome: Outcome) => {
    if (over) return; // the target came back after its grace
    over = true;
    disarm();
    done(stopped === undefined ? outcome : { ok: false, error: stopped });
  };
  const stop = (reason: RuntimeError) => {
    if (stopped !== undefined || over) return;
    stopped = reason;
    disarm();
    disarm = edges.clock.after(graceMs, () => finish({ ok: false, error: reason }));
    controller.abort(reason);
  };
  if (timeoutMs < Number.POSITIVE_INFINITY)
    disarm = edges.clock.after(timeoutMs, () => stop(timedOut(action, timeoutMs)));
  called(edges, { action, input, attempt: number, cause, signal: controller.signal }).then(
    (output) => finish({ ok: true, output: output ?? null }),
    (thrown: unknown) => finish({ ok: false, error: toRuntimeError(thrown) }),
  );
  return { stop };
}

function called(edges: Pick<SchedulerEdges, 'perform'>, call: PerformCall): Promise<Json> {
  try {
    return edges.perform(call);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}
