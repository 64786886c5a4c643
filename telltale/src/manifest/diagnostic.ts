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

/** Where in a document: keys and list indices from its root. It always names a node that is in the document. */
export type IssuePath = readonly (string | number)[];

/**
 * One thing wrong (or doubtful) in a manifest. A mistake of a user is data: nothing here is ever thrown.
 * `missing` points at what lacks the key: at that node's own key where it has one, else at the node.
 */
export interface Issue {
  readonly severity: 'error' | 'warning';
  /** A literal that callers may switch on: unknown_key, wrong_type, not_allowed, missing, bad_duration, … */
  readonly code: string;
  readonly path: IssuePath;
  /** What to point at: the key itself (an unknown key) or its value. */
  readonly at: 'key' | 'value';
  /** What was found. */
  readonly message: string;
  /** What is allowed, or the nearest right name. */
  readonly hint?: string;
  /** Offset inside a string value, in UTF-16 code units (an error in a CEL expression). */
  readonly offset?: number;
}

/**
 * Control characters, line and paragraph separators, direction marks, tags, fillers, the byte order mark, lone
 * surrogates. Not what emoji are joined with: `visibleText` spells that out, too, next to a decision.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/**
 * Text from a file or an environment as it may be written to a terminal: nothing in it moves the cursor, changes
 * colors or turns the direction of writing. Keeps the length in code units, so that offsets stay true.
 */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) =>
    character === '\t' || character === '\n' ? ' ' : '\ufffd'.repeat(character.length),
  );

const MAX_QUOTED = 60;

/** A value of the user's in a message: clipped, in double quotes, on one line. */
export const quoted = (text: string): string =>
  `"${printable(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)}"`;

/**
 * What loading manifests may cost. Generous for what is written by hand, tight for a file that is hostile
 * or no manifest at all. docs/decisions/manifest-limits.md.
 */
export const MANIFEST_LIMITS = {
  /** Bytes of one file; looked at before the file is read. */
  fileBytes: 1024 * 1024,
  /** Bytes of all files of one load. */
  totalBytes: 64 * 1024 * 1024,
  /** Files of one load. */
  files: 2000,
  /** Files one glob may match. */
  globMatches: 1000,
  /** Files and folders one glob, or one walk through a folder, may come across. */
  walkEntries: 100_000,
  /** Folders below the one a walk starts in. */
  walkDepth: 32,
  /** Documents of one file. */
  documents: 256,
  /** Lists and maps inside each other. The YAML composer is recursive: this is checked before it runs. */
  depth: 64,
  /** Values of one document, each alias counted as what it stands for. */
  values: 50_000,
  /** Characters that environment variables bring into one document, each time one is named. */
  envCharacters: 1024 * 1024,
  /** Keys of one map. */
  keys: 1000,
  /** Diagnostics of one document; the rest are counted. */
  diagnostics: 100,
  /** Diagnostics of one file, those of its imports and names included; the rest are counted. */
  fileDiagnostics: 500,
  /** Entries of one list of an agent's `import`. */
  importEntries: 500,
  /** Files read at the same time. */
  concurrentReads: 16,
} as const;
