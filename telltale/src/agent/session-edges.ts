import type { Cause } from '../log/event.ts';
import type { Model } from '../models/model.ts';
import type { StreamWriter } from '../store/store.ts';
import type { Invoke } from '../tools/artifacts/create-invoke.ts';
import type { ChatControl } from './chat-control.ts';
import type { Lineage } from './children/child-session.ts';
import type { IdleStatus } from './children/idle.ts';
import type { Guidance } from './guided/guidance.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { RuntimeDeps } from './runtime-deps.ts';
import type { OnWaiting } from './runtime-types.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';
import type { SessionVariables } from './variables/session-variables.ts';

/** What one run of an agent has of the world. */
export interface SessionDeps {
  /** What all sessions of its runtime have. */
  readonly runtime: RuntimeDeps;
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly variables: SessionVariables;
  readonly writer: StreamWriter;
  readonly stop: Stop;
  /** The model, where it is not the agent's as it is: one that is recorded. */
  readonly model: Model;
  /** The event that began or resumed it. */
  readonly origin: Cause;
  readonly resumed: boolean;
  /** Messages up to this one came before it was resumed, while it was over. */
  readonly sentBefore: number;
  /** Whether messages may wait in its inbox; asked once, when it listens for those that come. */
  hasMail: (() => boolean) | undefined;
  readonly onWaiting: OnWaiting;
  /** For whoever called it. */
  readonly rest: IdleStatus;
  /** How a person leads the session, where it is a chat. */
  readonly chat: ChatControl;
  /** Asks decision artifacts for this session: `invokeOf` makes it for the first who does. */
  invoke: Invoke | undefined;
  /** The session or run at the top: in its name places of tools are taken, and calls made that must not be made twice. */
  readonly group: string;
  /** Where it is a sub-agent's. */
  readonly lineage: Lineage | undefined;
  /** Where a run leads it that has begun it. */
  readonly lead: Guidance | undefined;
}
