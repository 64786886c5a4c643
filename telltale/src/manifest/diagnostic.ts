/** The source line of a diagnostic, clipped around the position and safe to print. */
export interface Excerpt {
  readonly text: string;
  /** Where the caret starts and how long it is, in UTF-16 code units of `text`. */
  readonly caretFrom: number;
  readonly caretLength: number;
}

/** A position in the same file. */
export interface SourcePlace {
  readonly line: number;
  readonly column: number;
  readonly excerpt?: Excerpt;
}

/** One problem of a manifest, and its position. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** A code that scripts may rely on: docs/errors.md lists them. */
  readonly code: string;
  /** With `/`. Relative to the folder in which loading started if the file is below it, otherwise absolute. */
  readonly file: string;
  /** Starts at 1. Undefined, like `column` and `excerpt`, if the file could not be read. */
  readonly line?: number;
  /** Starts at 1, in UTF-16 code units, as editors count. */
  readonly column?: number;
  /** If line and column are those of a YAML alias: where its value is written, from alias to alias. */
  readonly from?: readonly SourcePlace[];
  /** For a manifest written in code, instead of line and column: a JSON pointer into it, empty for the whole. */
  readonly path?: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** Also undefined if the line is blank. */
  readonly excerpt?: Excerpt;
}

/** A diagnostic without its position. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** A range of a source text. `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A position in a document: keys and list indices from its root. It always names an existing node. */
export type IssuePath = readonly (string | number)[];

/**
 * One problem of a manifest. A user's mistake is data, so nothing here is ever thrown. `missing` points at the node
 * that lacks the key: at that node's own key if it has one.
 */
export interface Issue {
  readonly severity: 'error' | 'warning';
  /** A code that callers may rely on: unknown_key, wrong_type, not_allowed, missing, bad_duration, … */
  readonly code: string;
  readonly path: IssuePath;
  /** What to point at: the key (for an unknown key) or its value. */
  readonly at: 'key' | 'value';
  readonly message: string;
  /** What is allowed, or the most similar valid name. */
  readonly hint?: string;
  /** Offset inside a string value, in UTF-16 code units, for example of an error in a CEL expression. */
  readonly offset?: number;
}

/**
 * Control characters, line and paragraph separators, direction marks, tags, fillers, the byte order mark and lone
 * surrogates. The joiners inside emoji are not included. Next to a decision, `visibleText` makes those visible too.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/**
 * Makes text from a file or an environment safe for a terminal: it can't move the cursor, change colors or turn the
 * writing direction. The length in code units stays the same, so offsets remain valid.
 */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) =>
    character === '\t' || character === '\n' ? ' ' : '\ufffd'.repeat(character.length),
  );

const MAX_QUOTED = 60;

/** A user's value in a message: clipped, in double quotes, on one line. */
export const quoted = (text: string): string =>
  `"${printable(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)}"`;

/**
 * The limits of loading manifests. They are generous for handwritten files and strict for hostile ones.
 * docs/decisions/manifest-limits.md.
 */
export const MANIFEST_LIMITS = {
  /** Bytes of one file, checked before it is read. */
  fileBytes: 1024 * 1024,
  /** Bytes of all files in one load. */
  totalBytes: 64 * 1024 * 1024,
  /** Files in one load. */
  files: 2000,
  /** Files that one glob may match. */
  globMatches: 1000,
  /** Files and folders that one glob, or one folder walk, may visit. */
  walkEntries: 100_000,
  /** Nesting of folders below the start of a walk. */
  walkDepth: 32,
  /** Documents in one file. */
  documents: 256,
  /** Nested lists and maps. The YAML composer is recursive, so this is checked before it runs. */
  depth: 64,
  /** Values in one document. An alias counts as much as what it stands for. */
  values: 50_000,
  /** Characters that environment variables add to one document, counted for each use. */
  envCharacters: 1024 * 1024,
  /** Keys in one map. */
  keys: 1000,
  /** Diagnostics for one document. Further ones are only counted. */
  diagnostics: 100,
  /** Diagnostics for one file, including its imports and names. Further ones are only counted. */
  fileDiagnostics: 500,
  /** Entries in one list of an agent's `import`. */
  importEntries: 500,
  /** Files read at the same time. */
  concurrentReads: 16,
} as const;
