import type { Json, JsonObject } from '../kernel/json.ts';
import type { Cause } from './event.ts';

/** A workflow run that a trigger of the session started and that has not ended. */
export interface StartedRun {
  readonly run: string;
  readonly workflow: string;
  readonly trigger: string;
  /** Where its `trigger.fired` stands: what `${agent.*}` shows in it is the session at this place. */
  readonly seq: number;
  readonly depth: number;
  readonly seen: JsonObject;
  readonly chain: readonly string[];
}

/** What a run that has not ended has asked of the session and was done: an order that comes twice is carried out once. */
export interface RunOrders {
  readonly run: string;
  readonly keys: readonly string[];
}

/** A timer that has not fired. */
export interface Timer {
  readonly id: string;
  readonly due: number;
  readonly data?: Json;
  /** Where it was set: what it sets off comes from there. */
  readonly cause: Cause;
}

/** How often a trigger has fired, and when last (0: never). */
export interface TriggerCount {
  readonly trigger: string;
  readonly times: number;
  readonly at: number;
  /** What the artifact that decides its test said last. */
  readonly held?: boolean;
}
