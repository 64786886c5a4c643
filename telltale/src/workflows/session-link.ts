import type { Cause } from '../events/event.ts';
import type { Json, JsonObject } from '../kernel/json.ts';

/** What a run asks of the session that it belongs to. */
export type SessionAct =
  | { readonly kind: 'set_metadata'; readonly values: JsonObject }
  | { readonly kind: 'set_variable'; readonly values: JsonObject }
  | { readonly kind: 'notify'; readonly message: string; readonly to?: string; readonly data?: Json }
  | { readonly kind: 'emit'; readonly event: string; readonly data?: Json };

/** The way from a run to its session: through the session's durable inbox, so that it works from any process. */
export interface SessionLink {
  readonly session: string;
  /** What `${agent.*}` shows: the session as of the run's start, frozen, read from its log when it is first asked for. */
  agent(): Promise<JsonObject>;
  /**
   * Asks for something, durably when it resolves. `key` is one of the run's own: what was asked for under it is done
   * once, however often it is sent. False where the session has ended, and nobody will do it.
   */
  ask(key: string, act: SessionAct, cause: Cause): Promise<boolean>;
}
