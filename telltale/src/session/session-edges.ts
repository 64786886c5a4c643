import type { Slots } from '../engine/slots.ts';
import type { UnderWay } from '../engine/under-way.ts';
import type { Cause } from '../events/event.ts';
import type { Clock } from '../kernel/clock.ts';
import type { IdSource } from '../kernel/ids.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { Model } from '../models/model.ts';
import type { Store, StreamWriter } from '../store/store.ts';
import type { Invoke } from '../targets/artifacts/invoker.ts';
import type { Approve } from '../targets/target.ts';
import type { Talk } from './chat/talk.ts';
import type { Lineage, Spawn } from './children/lineage.ts';
import type { Rest } from './children/rest.ts';
import type { Lead } from './guide/lead.ts';
import type { Memories } from './memory/memories.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { Runs } from './runs/create-runs.ts';
import type { OnWaiting } from './runtime-types.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import type { SessionVariables } from './variables/session-variables.ts';

/** What one run of an agent has of the world. */
export interface SessionEdges {
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly variables: SessionVariables;
  readonly writer: StreamWriter;
  readonly stop: Stop;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The model, where it is not the agent's as it is: one that is recorded. */
  readonly model: Model;
  /** The event that began or resumed it. */
  readonly origin: Cause;
  readonly resumed: boolean;
  /** Messages up to this one came before it was resumed, while it was over. */
  readonly sentBefore: number;
  /** Whether messages may wait in its inbox; asked once, when it listens for those that come. */
  hasMail: (() => boolean) | undefined;
  readonly approve?: Approve | undefined;
  readonly onWaiting: OnWaiting;
  /** For whoever called it. */
  readonly rest: Rest;
  /** How a person leads the session, where it is a chat. */
  readonly talk: Talk;
  readonly spawn: Spawn;
  readonly runs: Runs;
  readonly memories: Memories;
  readonly tokenizer: LoadTokenizer;
  readonly ids: IdSource;
  /** Asks decision artifacts for this session: `invokeOf` makes it for the first who does. */
  invoke: Invoke | undefined;
  /** A tool's `max_parallel`, and calls that must not be made twice: in the name of `group`. */
  readonly slots: Slots;
  readonly underWay: UnderWay;
  /** The session or run at the top. */
  readonly group: string;
  /** Where it is a sub-agent's. */
  readonly lineage: Lineage | undefined;
  /** Where a run leads it that has begun it. */
  readonly lead: Lead | undefined;
  readonly crashPoint?: ((name: string) => void) | undefined;
}
