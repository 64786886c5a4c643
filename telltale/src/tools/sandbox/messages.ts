import type { MessagePort } from 'node:worker_threads';
import type { SandboxOutcome } from './outcome.ts';

/** What a thread is started with. Cells say what there is to take: from the box where it is small, else by the port. */
export interface ThreadData {
  readonly cells: Int32Array;
  readonly box: SharedArrayBuffer;
  readonly port: MessagePort;
}

/** Set to 1 to stop what runs. */
export const STOP = 0;

/** How many requests there were so far. */
export const ASKED = 1;

/** Where the newest request is: IN_BOX or POSTED. */
export const REQUEST = 2;

/** What has become of it: WAITED_FOR or LEFT while it runs, then IN_BOX or POSTED, where its answer is. */
export const STATE = 3;

export const CELLS = 4;

/** The caller stands still until there is an answer. */
export const WAITED_FOR = 0;

/** Nobody does: the answer is to be posted. */
export const LEFT = 1;

export const IN_BOX = 2;

export const POSTED = 3;

/** A request that is posted. The thread keeps its texts under their numbers, for requests in the box. */
export interface PostedRequest {
  readonly request: RunRequest;
  readonly numbers: TextNumbers;
}

/** Of the texts in a request that are the same in many; `undefined` for one that is not kept, or is not there. */
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
  /** The names of those that cannot be changed: a list, as JSON. */
  readonly frozen: string;
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly now: number | undefined;
  readonly seed: number;
  readonly logs: boolean;
}

export type SandboxFromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly id: number; readonly text: string }
  /** `ms`: what it took in the thread. */
  | { readonly kind: 'done'; readonly id: number; readonly outcome: SandboxOutcome; readonly ms: number };
