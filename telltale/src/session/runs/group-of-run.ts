import type { RunState } from '../../events/run-state.ts';

/** Who takes turns for a run: the session that it belongs to, else the run that called it, else itself. */
export const groupOfRun = ({ id, origin: { session, parent } }: Pick<RunState, 'id' | 'origin'>): string =>
  session?.id ?? parent?.run ?? id;
