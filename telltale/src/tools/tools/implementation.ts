import type { Json, JsonObject } from '../../lib/json.ts';
import type { Coverage } from '../definition/command-coverage.ts';
import type { ApprovalNeed, Target, TargetCall } from '../target.ts';

/**
 * Runs one attempt of a tool, after approval. `input` is the call's input with defaults filled in. The call itself must
 * be passed on uncopied, because its snapshot of the agent is created only when it is read. The result is JSON of
 * limited size.
 */
export type RunTool = (input: JsonObject, call: TargetCall) => Promise<Json>;
/** An implementation, with the approvals that its calls may need. */
export interface ToolImplementation {
  readonly run: RunTool;
  /** The hash of its code files. */
  readonly code?: () => string;
  /** The files that an approval of a call covers, besides its code. */
  readonly covers?: (...asked: Parameters<NonNullable<Target['needs']>>) => Promise<Coverage>;
  readonly needs?: (
    ...asked: Parameters<NonNullable<Target['needs']>>
  ) => ApprovalNeed | undefined | Promise<ApprovalNeed | undefined>;
}
/** What an implementation is created from. */
export interface ImplementationContext {
  /** For messages: `tool "search"`. */
  readonly what: string;
  /** The manifest's file, absolute. */
  readonly file: string;
  readonly parameterNames: ReadonlySet<string>;
  readonly maxBytes: number;
  /** Whether the result must be JSON that matches a schema. */
  readonly wantsJson: boolean;
  readonly stream: boolean;
  /** Whether a person approves each call. Then the approved code must be identified. */
  readonly isApproved: boolean;
  /** Whether a call is refused if an approval cannot cover everything it runs. */
  readonly isStrict: boolean;
  /** The manifest's time limit of each attempt. */
  readonly timeoutMs?: number | undefined;
}
