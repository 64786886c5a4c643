import type { Fleet } from '../../session/fleet/fleet.ts';
import type { Caretaker, CaretakerDeps } from './create-caretaker.ts';
import { takeUp } from './take-up.ts';

/**
 * In a fleet, what is alive and has nobody at work on it is found by whichever process looks for it, and goes to one that
 * has room: there is nothing to take up at a start, and nothing to be watched for here. What cannot go on here is tried
 * by others, and laid aside in the end.
 */
export function createFleetCaretaker(
  { runtime, catalog }: Pick<CaretakerDeps, 'runtime' | 'catalog'>,
  fleet: Pick<Fleet, 'workOnSessions' | 'drain'>,
): Pick<Caretaker, 'recover' | 'close'> {
  const deps = { runtime, catalog, onError: () => undefined }; // its log has what went wrong
  return {
    async recover() {
      fleet.workOnSessions(async (session, _signal, taken) => {
        await takeUp(deps, session);
        const live = runtime.session(session);
        if (live === undefined) return { kind: 'done' }; // another has it, or it has ended
        taken();
        const { status } = await live.result;
        return { kind: status === 'waiting' ? 'waiting' : 'done' };
      });
      return { sessions: [], runs: [], left: [] };
    },
    close: () => fleet.drain(),
  };
}
