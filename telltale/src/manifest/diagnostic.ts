/** The source line a diagnostic is about, clipped round the place, safe to print. */
export interface Excerpt {
  readonly text: string;
  /** Where the caret begins and how far it reaches, in UTF-16 code units of `text`. */
  readonly caretFrom: number;
  readonly caretLength: number;
}

/** A place in the same file. */
export interface SourcePlace {
  readonly line: number;
  readonly column: number;
  readonly excerpt?: Excerpt;
}

/** One thing that is wrong with a manifest, and where. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** A literal that scripts may switch on: docs/errors.md lists them. */
  readonly code: string;
  /** Relative to the folder the load was started in, with `/`, if the file is below it; else absolute. */
  readonly file: string;
  /** From 1. Missing, like `column` and `excerpt`, where the file itself could not be read. */
  readonly line?: number;
  /** From 1, in UTF-16 code units: what editors count. */
  readonly column?: number;
  /** Where line and column are those of a YAML alias: where what it stands for is written, from alias to alias. */
  readonly from?: readonly SourcePlace[];
  /** In place of line and column where the manifest was written in code: a JSON pointer into it, empty for the whole. */
  readonly path?: string;
  /** What was found, as one sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** Missing also where the line is blank. */
  readonly excerpt?: Excerpt;
}

/** A diagnostic before it is put in its place. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** A stretch of a source text: `end` is behind its last code unit. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
