import type { Json, JsonObject } from '../../lib/json.ts';
import type { Coverage } from '../definition/command-coverage.ts';
import type { Need, Target, TargetCall } from '../target.ts';

/**
 * Runs one try of a tool, once permission is given; `input` is the call's with defaults filled in. The call itself is
 * passed on as it is, never copied: its snapshot of the agent may be made only when it is read. The result is JSON of
 * bounded size.
 */
export type Implementation = (input: JsonObject, call: TargetCall) => Promise<Json>;
/** An implementation, and what its calls need a person's approval for, where they may. */
export interface Implemented {
  readonly run: Implementation;
  /** The hash of the files that are its code. */
  readonly code?: () => string;
  /** What an approval of a call covers besides its code. */
  readonly covers?: (...asked: Parameters<NonNullable<Target['needs']>>) => Promise<Coverage>;
  readonly needs?: (
    ...asked: Parameters<NonNullable<Target['needs']>>
  ) => Need | undefined | Promise<Need | undefined>;
}
/** What an implementation is made from. */
export interface ImplementationContext {
  /** For messages: `tool "search"`. */
  readonly what: string;
  /** The manifest's file, absolute. */
  readonly file: string;
  readonly parameterNames: ReadonlySet<string>;
  readonly maxBytes: number;
  /** Whether the result must be JSON of a schema. */
  readonly wantsJson: boolean;
  readonly stream: boolean;
  /** Whether a person approves each call: then it has to be known what code that is. */
  readonly isApproved: boolean;
  /** Whether a call is refused where an approval cannot cover all that it runs. */
  readonly isStrict: boolean;
  /** What the manifest gives each try. */
  readonly timeoutMs?: number | undefined;
}
