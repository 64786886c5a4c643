import type { SessionState } from '../../events/state.ts';
import type { CallNames } from '../../protocol/calls/call-names.ts';
import type { CallDialect } from '../../protocol/dialect-parser.ts';

/** How the native calls of an agent's turns are read. */
export interface CallStyle {
  readonly dialect: CallDialect;
  readonly names: CallNames;
  readonly maxBody: number;
  /** Whether a run leads the session: then `is_complete` ends a step of it. */
  readonly led: boolean;
  /** Ids that were given out before a turn. */
  readonly takenIds: (state: SessionState, beforeTurn: number) => Set<string>;
}
