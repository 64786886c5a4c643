import type { Slots } from '../engine/slots.ts';
import type { UnderWay } from '../engine/under-way.ts';
import type { LastFront } from '../events/codec.ts';
import type { SessionPrompt } from '../events/session-prompt.ts';
import type { Clock } from '../kernel/clock.ts';
import type { IdSource } from '../kernel/ids.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { Store } from '../store/store.ts';
import type { Approve } from '../targets/target.ts';
import type { AgentShelf } from './agent-shelf.ts';
import type { AskedPrompt } from './asked-prompt.ts';
import type { Spawn } from './children/lineage.ts';
import type { Memories } from './memory/memories.ts';
import type { Runs } from './runs/create-runs.ts';
import type { OnWaiting, Session, Watcher } from './runtime-types.ts';

/** A session that is worked on here. */
export interface SessionHere extends Session<unknown> {
  /** Whether its end is decided, so that nobody reads what is said to it. */
  isOver(): boolean;
  /** Whether a message for the agent, by its number in the inbox, has come onto its log. */
  hasHeard(message: number): boolean;
  /** The prompt of a turn, with the agent that the session runs. */
  showPrompt(asked: AskedPrompt): Promise<SessionPrompt>;
}

/**
 * What stands for a session in tables that outlive it; emptied when it is over. Where a table is replaced by a larger or
 * smaller one, the engine leaves the one before to the next full collection, and until then takes all that it leads to for
 * alive: with the sessions themselves in there each scavenge copied those that were over once more.
 */
export interface Seat {
  session: SessionHere | undefined;
}

/** What every session of a runtime has at hand. */
export interface RuntimeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly shelf: AgentShelf;
  readonly approve?: Approve | undefined;
  readonly onWaiting?: OnWaiting | undefined;
  /** Whose variables of `key: user` sessions have that say nothing else. */
  readonly user: string;
  /** Begins the session of a sub-agent. */
  readonly spawn: Spawn;
  readonly runs: Runs;
  readonly memories: Memories;
  readonly tokenizer: LoadTokenizer;
  readonly ids: IdSource;
  /** A tool's `max_parallel`, over all that this process and its fleet do. */
  readonly slots: Slots;
  readonly underWay: UnderWay;
  readonly watchers: ReadonlySet<Watcher>;
  /** Of the line that was written last, whichever session's it was. */
  readonly front: LastFront;
  /** The sessions that are worked on here, by id. */
  readonly here: Map<string, Seat>;
  readonly crashPoint?: ((name: string) => void) | undefined;
}
