import type { Engine } from '../../engine/engine.ts';
import type { Slots } from '../../engine/slots.ts';
import type { UnderWay } from '../../engine/under-way.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { IdSource } from '../../kernel/ids.ts';
import type { Store } from '../../store/store.ts';
import type { Approve } from '../../targets/target.ts';
import type { AgentShelf } from '../agent-shelf.ts';
import type { Spawn } from '../children/lineage.ts';
import type { Watcher } from '../runtime-types.ts';
import type { AgentSnapshots } from './agent-snapshot.ts';
import type { GroundDeps, RealmDeps } from './realm.ts';
import type { AskRun } from './run-asking.ts';

/** What runs have of the runtime. */
export interface RunsDeps extends GroundDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly random: () => number;
  readonly shelf: AgentShelf;
  readonly lateModel: RealmDeps['lateModel'];
  readonly spawn: Spawn;
  readonly snapshots: AgentSnapshots;
  readonly ids: IdSource;
  /** Whose variables of `key: user` a run has that belongs to no session. */
  readonly user: string;
  readonly slots: Slots;
  readonly underWay: UnderWay;
  readonly approve?: Approve | undefined;
  readonly ask?: AskRun | undefined;
  readonly watchers: ReadonlySet<Watcher>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** What no run can be told of: a mistake of ours, or a store that fails. */
  readonly onError: (error: unknown) => void;
}
