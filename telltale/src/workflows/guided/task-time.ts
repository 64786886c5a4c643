import { stopWith } from '../../kernel/stop-with.ts';
import type { LeafCall } from '../leaf.ts';
import { timedOut } from '../machine/failures.ts';
import type { LeafContext } from '../steps/leaf-edges.ts';
import type { Timed } from './judge-report.ts';

/** A task's own clock. */
export interface TaskTime {
  readonly timed: Timed;
  /** As the step's, with the end of its time: whoever only waits is looked at again then. */
  readonly park: LeafCall['park'];
}

/**
 * The step's `timeout`, for what agent and verifier take. It counts from its start by the log, and anew from a person's
 * last word: what they take is not its time.
 */
export function taskTime(call: LeafCall, { journal: { state }, clock }: LeafContext): TaskTime {
  const timeoutMs = call.step.timeout?.ms;
  if (timeoutMs === undefined) return { timed: (work) => work(call.signal), park: call.park };
  const deadline = (): number => {
    const began = state.steps.get(call.address)?.triedAt ?? clock.now();
    const words = state.reviews.flatMap(({ step, answeredAt }) =>
      step === call.address && answeredAt !== undefined ? [answeredAt] : [],
    );
    return Math.max(began, ...words) + timeoutMs;
  };
  return {
    async timed(work) {
      const left = deadline() - clock.now();
      const late = timedOut(call.address, timeoutMs);
      if (left <= 0) throw late;
      const controller = new AbortController();
      const disarm = clock.after(left, () => stopWith(controller, late));
      try {
        return await work(AbortSignal.any([call.signal, controller.signal]));
      } finally {
        disarm();
      }
    },
    park: (waitsFor, due) => call.park(waitsFor, Math.min(due ?? Number.POSITIVE_INFINITY, deadline())),
  };
}
