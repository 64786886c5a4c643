import type { GuidedState, RunState } from '../../events/run-state.ts';
import type { TaskLog } from './decide-report.ts';

const NOTHING: GuidedState = { claims: [], stuck: [], verdicts: [], plans: [] };

/** What a run's log says of the attempt at a step that is in hand. */
export function taskLog({ steps, reviews }: Pick<RunState, 'steps' | 'reviews'>, address: string): TaskLog {
  const step = steps.get(address);
  const began = step?.cause.seq ?? 0;
  return {
    guided: step?.guided ?? NOTHING,
    reviews: reviews.filter(
      ({ step: asker, kind, seq }) => asker === address && kind === 'escalation' && seq > began,
    ),
  };
}
