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
