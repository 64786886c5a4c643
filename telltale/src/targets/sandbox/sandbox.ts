import type { JsonObject } from '../../kernel/json.ts';

/** One run of a script. */
export interface SandboxJob {
  /** For messages: `tool "price"`. */
  readonly what: string;
  /** JavaScript. Its last value is the result; where a `return` stands outside of functions, that one's is. */
  readonly source: string;
  /** An ES module that is evaluated before the script, in the same world. It can import nothing. */
  readonly module?: string;
  /** What the script sees as global variables. */
  readonly globals: JsonObject;
  /** Those of them that it cannot change, however deep. */
  readonly frozen?: readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
  /** How long it waits for a thread while others hold them all; as long as it takes if absent. */
  readonly waitMs?: number;
  /** What it writes by `console.log`, as it comes; thrown away where absent. */
  readonly onLog?: ((text: string) => void) | undefined;
  /** What of its time limit it used, once it has ended: on a busy machine less than the time that passed. */
  readonly onTime?: (ms: number) => void;
  /** What its clock shows all along, in milliseconds since 1970; the real time if absent. */
  readonly now?: number;
  /** The same seed gives the same `Math.random()`; another one each time if absent. */
  readonly seed?: number;
}

export interface SandboxLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
  /** Of the result as JSON. */
  readonly outputBytes: number;
}

/**
 * Runs JavaScript that can reach nothing but what it is given: no files, no network, no timers, no modules. Each run
 * has a world of its own: nothing that a script does is seen by the next.
 */
export interface Sandbox {
  /**
   * Resolves with the result as JSON text. Rejects with `script_error`, `script_timeout`, `script_memory`, `bad_output`,
   * `output_too_large`, `sandbox_busy`, or what the signal was aborted with.
   */
  run(job: SandboxJob): Promise<string>;
  /** Starts its first thread, so that the first script does not have to wait for it: that takes 0.1 s and more. */
  warm(): void;
  /** Ends its threads; what still runs is rejected. */
  close(): Promise<void>;
}

export const DEFAULT_SCRIPT_MS = 1_000;
export const DEFAULT_SCRIPT_MEMORY = 16 * 1024 * 1024;
