import { completesStep } from '../../log/action.ts';
import type { SessionContext } from '../session-context.ts';

type Claiming = Pick<SessionContext, 'scheduler' | 'state' | 'reviews'>;

/** The calls of `complete_step` that have not ended. */
export const claimsUnderWay = ({ scheduler, state }: Pick<Claiming, 'scheduler' | 'state'>) =>
  scheduler.tracked().filter((id) => {
    const known = state.actions.get(id);
    return known !== undefined && completesStep(known.action);
  });

/**
 * Before a turn that a message brought about while the end of a step waited for people: the step is completed in the turn
 * that says so, or not at all. Undefined where there is nothing to give way.
 */
export function giveWay(context: Claiming): Promise<void> | undefined {
  if (!context.reviews.hasUserMessage()) return undefined;
  const claims = claimsUnderWay(context);
  return claims.length === 0 ? undefined : context.scheduler.cancel(OVERTAKEN, claims);
}

const OVERTAKEN =
  'The step is not completed: a message came in while this waited for what a person decides on. Read it, do what it asks for, and complete the step again.';
