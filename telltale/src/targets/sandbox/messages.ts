import type { MessagePort } from 'node:worker_threads';

/** What a thread is started with. Requests and answers go by the port; a cell says that there is one. */
export interface ThreadData {
  readonly cells: Int32Array;
  readonly port: MessagePort;
}

/** Set to 1 to stop what runs. */
export const STOP = 0;
/** How many requests there were so far, and how many answers. */
export const ASKED = 1;
export const ANSWERED = 2;
export const CELLS = 3;

export interface RunRequest {
  readonly id: number;
  readonly source: string;
  /** An ES module that is evaluated before the script. */
  readonly module?: string | undefined;
  /** A map of global variables, as JSON. */
  readonly globals: string;
  readonly frozen: readonly string[];
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly now: number | undefined;
  readonly seed: number;
  readonly logs: boolean;
}

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly id: number; readonly text: string }
  /** `ms`: what it took in the thread. */
  | { readonly kind: 'done'; readonly id: number; readonly outcome: Outcome; readonly ms: number };

/** Where in the script, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Outcome =
  | { readonly kind: 'value'; readonly json: string }
  | { readonly kind: 'syntax'; readonly message: string; readonly place?: Place | undefined }
  | {
      readonly kind: 'threw';
      /** `TypeError`; empty for a value that is no Error. */
      readonly name: string;
      readonly message: string;
      readonly place?: Place | undefined;
    }
  /** Stopped by its limit, or because it was asked to. */
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'memory' }
  | { readonly kind: 'stack' }
  | { readonly kind: 'large' }
  | { readonly kind: 'not_json'; readonly path: string; readonly found: string; readonly hint: string };
