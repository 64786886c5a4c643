import type { MessagePort } from 'node:worker_threads';
import type { SandboxOutcome } from './sandbox.ts';

/** What a thread is started with. Cells say what there is to take: from the box where it is small, else by the port. */
export interface ThreadData {
  readonly cells: Int32Array;
  readonly buffer: SharedArrayBuffer;
  readonly port: MessagePort;
}

/** Set to 1 to stop the running script. */
export const STOP = 0;

/** The number of requests so far. */
export const ASKED = 1;

/** Where the newest request is: IN_BOX or POSTED. */
export const REQUEST = 2;

/**
 * The state of the newest request: WAITED_FOR or LEFT while it runs, then IN_BOX or POSTED, depending on where its
 * answer is.
 */
export const STATE = 3;

export const CELLS = 4;

/** The caller is blocked until there is an answer. */
export const WAITED_FOR = 0;

/** The caller is not blocked, so the answer is posted. */
export const LEFT = 1;

export const IN_BUFFER = 2;

export const POSTED = 3;

/** A posted request. The thread stores its texts under their numbers, for later requests in the box. */
export interface PostedRequest {
  readonly request: RunRequest;
  readonly numbers: TextNumbers;
}

/** Numbers of texts that recur in many requests. `undefined` for a text that is not stored, or not present. */
export interface TextNumbers {
  readonly source: number | undefined;
  readonly module: number | undefined;
  readonly frozen: number | undefined;
}

export interface RunRequest {
  readonly id: number;
  readonly source: string;
  /** An ES module that is evaluated before the script. */
  readonly module?: string | undefined;
  /** A map of global variables, as JSON. */
  readonly globals: string;
  /** The names of the globals that cannot be changed, as a JSON list. */
  readonly frozen: string;
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly now: number | undefined;
  readonly seed: number;
  readonly logs: boolean;
}

export type ThreadMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly id: number; readonly text: string }
  /** `ms` is the time it took in the thread. */
  | { readonly kind: 'done'; readonly id: number; readonly outcome: SandboxOutcome; readonly ms: number };
