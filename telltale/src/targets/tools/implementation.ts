import type { Json } from '../../kernel/json.ts';
import type { TargetCall } from '../target.ts';

/** Runs one try of a tool, with defaults filled in and permission given. The result is JSON of bounded size. */
export type Implementation = (call: TargetCall) => Promise<Json>;

/** What an implementation is made from. */
export interface ToolContext {
  /** For messages: `tool "search"`. */
  readonly what: string;
  /** The manifest's file, absolute. */
  readonly file: string;
  readonly parameterNames: ReadonlySet<string>;
  readonly maxBytes: number;
  /** Whether the result must be JSON of a schema. */
  readonly wantsJson: boolean;
  readonly stream: boolean;
}
