import type { Json } from './json.ts';

/** Why an artifact did not decide, and its place's fallback counted. */
export type FallbackReason =
  | 'missing'
  | 'no_method'
  | 'threw'
  | 'timeout'
  | 'memory'
  | 'too_large'
  | 'wrong_type'
  | 'failed'
  | 'cycle'
  | 'depth'
  | 'unaffordable'
  | 'unavailable';

/** One decision that an artifact was asked for. */
export interface InvokeRecord {
  /** What was decided: `trigger NAME#0`, `step NAME: condition`, `hook before_action`. */
  readonly where: string;
  readonly artifact: string;
  /** The version that was asked; absent where there is none. */
  readonly version?: number;
  readonly method: string;
  readonly args: readonly Json[];
  /** What counts: the artifact's word, or the fallback. */
  readonly result: Json;
  /** Why the fallback counts; absent where the artifact decided. */
  readonly fallback?: { readonly reason: FallbackReason; readonly message: string };
  /** Whether the answer was given before in the same run, to the same question. */
  readonly cached: boolean;
  readonly ms: number;
  readonly cost: number;
}
