import type { JsonObject } from './json.ts';

/** What an action can call. */
export const ACTION_KINDS = ['tool', 'agent', 'relic', 'workflow', 'llm', 'artifact', 'internal'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

export const ACTION_MODES = ['sync', 'async', 'background', 'fire_and_forget'] as const;
export type ActionMode = (typeof ACTION_MODES)[number];

export const ON_ERROR = ['skip', 'fail', 'retry'] as const;
export type OnError = (typeof ON_ERROR)[number];

/** The fields of an action that a dialect, the log and the scheduler read alike. */
export interface ActionEnvelope {
  readonly id: string;
  /** References in them are resolved just before the start. */
  readonly parameters: JsonObject;
  /** Whether the parameters hold no references, whatever they look like. */
  readonly literal?: boolean;
  /** Also store the result under this name. */
  readonly output_key?: string;
  /** Ids that must have succeeded first. */
  readonly depends_on?: readonly string[];
  /** Seconds for each try. */
  readonly timeout?: number;
  /** Further tries after a failure. */
  readonly retry?: number;
  readonly on_error?: OnError;
  /** A CEL test over `metadata vars actions agent`. */
  readonly if?: string;
  /** An envelope, run to undo this one when the session rolls back. */
  readonly compensate?: JsonObject;
  readonly template?: string;
  /** The thought or response it stands in. */
  readonly in?: 'thought' | 'response';
}
