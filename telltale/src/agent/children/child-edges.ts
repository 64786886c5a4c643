import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { ApplyMetadata } from '../metadata-writer.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import type { SetVariable } from '../variables/session-variables.ts';
import type { Lineage, Spawn } from './child-session.ts';
import type { IdleCallees } from './idle.ts';

/** What sub-agents need of the session that calls them. */
export interface ChildDeps {
  /** The agent that calls. */
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly store: Store;
  readonly clock: Clock;
  readonly spawn: Spawn;
  readonly applyMetadata: ApplyMetadata;
  readonly setVariable: SetVariable;
  /** Where the calling session is itself a sub-agent's. */
  readonly lineage: Lineage | undefined;
  readonly called: IdleCallees;
}
