/** One turn of a model, cut into the chunks in which it arrives. */
export type Turn = readonly string[];

/** What one pass over the transcript gave its caller. */
export interface Outcome {
  /** Every action body that was read, parsed, in the order of the closes: at least `name` and `parameters`. */
  readonly bodies: readonly unknown[];
  /** Depends on all that was handed out (mostly: how many characters of text), so that no work can be left out. */
  readonly witness: number;
  /** Why the contestant gave up, and how far it came, if it did. */
  readonly stopped?: string;
}

/**
 * One way of reading the transcript. Each has its own loop over the chunks, so that no call site is shared and
 * made slow for everybody by the kinds of objects that the others pass through it.
 */
export interface Contestant {
  readonly name: string;
  /** Reads each turn with a parser of its own: what a runtime does. A stream is one long turn. */
  run(turns: readonly Turn[]): Outcome | Promise<Outcome>;
}

/** The peers' own way to a body: the text of the element, parsed once at its close. Broken text is no body. */
export function parseBody(text: string, bodies: unknown[]): void {
  try {
    bodies.push(JSON.parse(text));
  } catch {
    // Counted by its absence: the body is not among those found intact.
  }
}
