import type { EndedProcess } from './process-request.ts';

/** A program that the manifest names outside of a tool. */
export interface CommandRequest {
  /** For messages: `the hook "check"`. */
  readonly what: string;
  /** The program and its arguments; no shell is involved. */
  readonly command: readonly string[];
  /** Relative to the agent's folder, which it is if absent. */
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** Bytes of stdout that are kept, and of stderr. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs a program as the agent's command tools run: in its sandbox, with the environment that it permits. `note` puts a
 * remark on the log. Rejects where it cannot be started or takes too long; how it exits is the caller's to judge.
 */
export type RunCommand = (
  request: CommandRequest,
  call?: { readonly note?: (what: string) => void },
) => Promise<EndedProcess>;
