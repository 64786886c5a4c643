import type { JsonObject } from '../kernel/json.ts';

/** A hook that was asked. */
export interface HookRecord {
  readonly hook: 'before_turn' | 'after_turn' | 'before_action' | 'after_action' | 'on_error';
  /** `agent`, `workflow` or `step NAME`: whose hook it is, and which of its list. */
  readonly of: string;
  readonly index: number;
  /** What is asked: an artifact's method, or a program. */
  readonly by: string;
  /** The action it was asked about. */
  readonly action?: string;
  /** What it came to; `changed`: the parameters or the result are others than before. */
  readonly outcome: 'passed' | 'refused' | 'changed';
  readonly reason?: string;
  /** Why its fallback counts, where it does. */
  readonly fallback?: string;
  /** Of `before_action`: the parameters that count from here on, where the log does not hold them yet. */
  readonly input?: JsonObject;
  readonly ms: number;
}
