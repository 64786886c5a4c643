import type { Cause } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Json } from '../kernel/json.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import type { TagParser } from '../protocol/tags/tag-parser.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Store } from '../store/store.ts';
import type { Guide } from './guide/guide-port.ts';
import type { SessionHooks } from './hooks/create-session-hooks.ts';
import type { Inbox } from './inbox.ts';
import type { ApplyMetadata } from './metadata-writer.ts';
import type { PreparedCalls } from './prepare-calls.ts';
import type { Reviews } from './reviews/create-reviews.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import type { Asker } from './stream-model.ts';
import type { TestContext } from './test-context.ts';
import type { ToAction } from './to-action.ts';
import type { SessionVariables } from './variables/session-variables.ts';

interface ContextWorks {
  /** Brings what others have to tell, with nothing in flight. */
  beforeTurn(): Promise<void> | undefined;
  readonly applyMetadata: ApplyMetadata;
  context(): TestContext;
}

/** All that the parts of one running session share. */
export interface SessionContext {
  readonly manifest: AgentManifest;
  readonly state: SessionState;
  readonly log: SessionLog;
  readonly scheduler: Scheduler;
  readonly stop: Stop;
  readonly reviews: Reviews;
  /** Where a run leads the session. */
  readonly guide: Guide | undefined;
  /** Where the agent has hooks. */
  readonly hooks: SessionHooks | undefined;
  /** Where the agent has feeds or a memory: puts on the log what the coming turn is shown of them. */
  readonly fresh: (() => Promise<void> | undefined) | undefined;
  /** Where the manifest cuts parts of the prompt. */
  readonly parts: PartLimits | undefined;
  readonly inbox: Pick<Inbox, 'onMessage' | 'underWay' | 'hearNoMore'>;
  /** What turns come from: the event that began or resumed the session. */
  sessionOrigin(): Cause;
  readonly origin: Cause;
  readonly clock: Clock;
  readonly random: () => number;
  readonly store: Store;
  readonly model: Model;
  /** The model that writes summaries; the agent's own where it names no other. */
  readonly fastModel: () => Promise<Model>;
  /** Ids taken in the session: the parser adds to it. */
  readonly ids: Set<string>;
  /** The turn in hand, or the one before the next: for whoever stops the session. */
  asker: Asker | undefined;
  /** Read the turn before, and reads the next. */
  spareParser?: TagParser | undefined;
  /** Where the model calls tools natively. */
  readonly calls: PreparedCalls | undefined;
  readonly toAction: ToAction;
  /** Changes metadata, and gives what tests read and turns have to know. */
  readonly works: ContextWorks;
  readonly variables: SessionVariables;
  /** What is wrong with a final response, where the agent declares an output schema. */
  readonly checkOutput: (text: string) => CheckedOutput;
  /** The limit of a session above this one that is used up. */
  readonly limitAbove?: (() => RuntimeError | undefined) | undefined;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

export type CheckedOutput =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };
