/** What the model has said of elements that are still open. */
export interface OpenSpeech {
  readonly turn: number;
  /** From the outermost to the innermost. */
  readonly thoughts: readonly { readonly depth: number; readonly text: string }[];
  /** What has gone out of responses that are not on the log yet. */
  readonly response: string;
}

/** What is shown of one text that is open to whoever joins in the middle, in characters; of a longer one, its end. */
export const MAX_SHOWN = 256 * 1024;
