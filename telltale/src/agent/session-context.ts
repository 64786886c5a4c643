import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import type { EarlierIds } from '../parser/envelope/ids.ts';
import type { TagParser } from '../parser/tags/tag-parser.ts';
import type { ActionScheduler } from '../scheduler/action-scheduler.ts';
import type { Target } from '../tools/target.ts';
import type { TestContext } from './agent-view.ts';
import type { Guide } from './guided/guidance.ts';
import type { SessionHooks } from './hooks/session-hooks.ts';
import type { Inbox } from './inbox.ts';
import type { ApplyMetadata } from './metadata-writer.ts';
import type { PreparedCalls } from './model-interface.ts';
import type { Reviews } from './reviews/create-reviews.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import type { ActiveModelCall } from './stream-model.ts';

interface ContextServices {
  /** Brings what others have to tell, with nothing in flight. */
  beforeTurn(): Promise<void> | undefined;
  /** Where the session has feeds or a memory: puts on the log what the coming turn is shown of them. */
  readonly fresh: (() => Promise<void> | undefined) | undefined;
  readonly applyMetadata: ApplyMetadata;
  context(): TestContext;
  /** All that the session's actions can call. */
  callable(): readonly Target[];
  view(): JsonObject;
}

/** All that the parts of one running session share. */
export interface SessionContext {
  readonly deps: SessionDeps;
  readonly manifest: AgentManifest;
  readonly state: SessionState;
  readonly log: SessionLog;
  readonly scheduler: ActionScheduler;
  readonly stop: Stop;
  readonly reviews: Reviews;
  /** Where a run leads the session. */
  readonly guide: Guide | undefined;
  /** Where the agent has hooks. */
  readonly hooks: SessionHooks | undefined;
  readonly inbox: Pick<Inbox, 'onMessage' | 'underWay' | 'hearNoMore'>;
  /** What turns come from: the event that began or resumed the session. */
  sessionOrigin(): Cause;
  readonly clock: Clock;
  readonly model: Model;
  /** Ids that were taken before the turn in hand: no automatic id of it is one of them. */
  readonly earlier: EarlierIds;
  /** The turn in hand, or the one before the next: for whoever stops the session. */
  modelCall: ActiveModelCall | undefined;
  /** Read the turn before, and reads the next. */
  spareParser?: TagParser | undefined;
  /** Where the model calls tools natively. */
  readonly calls: PreparedCalls | undefined;
  /** Changes metadata, and gives what tests read and turns have to know. */
  readonly services: ContextServices;
}
