import type { StepState } from '../../events/run-state.ts';
import type { Json } from '../../kernel/json.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';

/** `seq` is the place on the log that decided it: of branches that end together the first on the log counts. */
export type ListOutcome =
  | { readonly kind: 'completed'; readonly output: Json; readonly seq: number }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly step?: string; readonly seq: number }
  | { readonly kind: 'cancelled'; readonly reason: string; readonly seq: number };

export type Outcome =
  | ListOutcome
  | { readonly kind: 'skipped'; readonly reason: string; readonly seq: number };

/** How a step ended by the log; undefined where it has not. */
export function endOnLog(known: StepState): Outcome | undefined {
  const seq = known.endedSeq ?? known.cause.seq;
  switch (known.status) {
    case 'completed':
    case 'compensated':
      return { kind: 'completed', output: known.output ?? null, seq };
    case 'failed':
      return { kind: 'failed', error: known.error ?? unexplained(known.step), step: known.step, seq };
    case 'skipped':
      return { kind: 'skipped', reason: known.reason ?? '', seq };
    case 'cancelled':
      return { kind: 'cancelled', reason: known.reason ?? 'cancelled', seq };
    case 'running':
    case 'retrying':
    case 'interrupted':
      return undefined;
  }
}

const unexplained = (step: string): ErrorJson => ({
  code: 'internal',
  message: `The log holds no error for the failed step "${step}".`,
  retryable: false,
});
