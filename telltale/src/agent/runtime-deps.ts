import type { QuarantinedWork, WorkFailure, WorkOffer } from '../cluster/work-queue.ts';
import type { InFlightCalls } from '../engine/in-flight.ts';
import type { Slots } from '../engine/slots.ts';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { IdSource } from '../lib/ids.ts';
import type { LoadTokenizer } from '../lib/tokens.ts';
import type { LastFront } from '../log/codec.ts';
import type { SessionPrompt } from '../log/session-prompt.ts';
import type { Store } from '../store/store.ts';
import type { Approve } from '../tools/target.ts';
import type { AgentShelf } from './agent-cache.ts';
import type { AskedPrompt } from './asked-prompt.ts';
import type { Spawn } from './children/child-session.ts';
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
  readonly underWay: InFlightCalls;
  readonly watchers: ReadonlySet<Watcher>;
  /** Of the line that was written last, whichever session's it was. */
  readonly front: LastFront;
  /** The sessions that are worked on here, by id. */
  readonly here: Map<string, Seat>;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

export const sessionQuarantined = (session: string) =>
  new RuntimeError('quarantined', `${session} is quarantined. It does not continue until you resume it.`, {
    hint: `To see why: telltale show ${session}. To continue: telltale resume ${session}`,
  });

export const laidAside = ({ stream, why }: QuarantinedWork) =>
  new RuntimeError('laid_aside', `${stream} is quarantined because no worker can continue it: ${why}`, {
    hint: `Fix that, then have it tried again: telltale fleet retry ${stream}`,
  });

export const workRetried = ({ stream }: WorkOffer, { code, message }: WorkFailure) =>
  new RuntimeError('work_retried', `Work on ${stream} failed and is tried again: ${message} [${code}]`, {
    hint: 'It is offered again after a pause, and quarantined when it keeps failing. See: telltale fleet',
    retryable: true,
  });

export const runtimeClosed = () =>
  new RuntimeError('runtime_closed', 'The runtime was closed.', { hint: 'Create another one.' });

export const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'List them: telltale sessions, telltale workflow list',
  });
