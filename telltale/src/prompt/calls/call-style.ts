import type { SessionState } from '../../events/state.ts';
import type { CallNames } from '../../protocol/calls/call-names.ts';
import type { CallDialect } from '../../protocol/dialect-parser.ts';

/** How the native calls of an agent's turns are read. */
export interface CallStyle {
  readonly dialect: CallDialect;
  readonly names: CallNames;
  readonly maxBody: number;
  /** Ids that were given out before a turn. */
  readonly takenIds: (state: SessionState, beforeTurn: number) => Set<string>;
}
