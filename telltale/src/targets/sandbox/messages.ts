/** What a thread is started with: the first cell is set to 1 to stop what runs. */
export interface ThreadData {
  readonly stop: Int32Array;
}

export interface RunRequest {
  readonly id: number;
  readonly source: string;
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
  | { readonly kind: 'done'; readonly id: number; readonly outcome: Outcome };

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
