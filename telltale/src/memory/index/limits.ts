/** Files of a folder that a graph takes; what comes behind them is left out and said. */
export const MAX_FILES = 200_000;
/** Entries of folders that are looked at, whatever they are. */
export const MAX_ENTRIES = 2_000_000;
export const MAX_DEPTH = 64;
/** Of a path within the folder: as long as a name in the store may be. */
export const MAX_PATH_CHARS = 1024;
/** Larger files are known by name only. */
export const MAX_SOURCE_BYTES = 1024 * 1024;
/** Of a file that is too large, what its hash is made of. */
export const HEAD_BYTES = 64 * 1024;
/** Where a NUL says that a file is no text. */
export const BINARY_BYTES = 8 * 1024;
/** Source with longer lines than these, on average or a single one, was written by a program. */
export const MAX_AVERAGE_LINE = 500;
export const MAX_LINE = 20_000;
/** Below it a long line says nothing. */
export const MIN_MINIFIED_CHARS = 4_096;
/** What one file may take to be read. */
export const PARSE_BUDGET_MS = 2_000;
/** A file system may give two writes of one moment the same time: git calls such a file racy, too. */
export const RACY_MS = 2_000;
/** A batch goes to the store when it holds so many files, or about so many characters. */
export const BATCH_FILES = 48;
export const BATCH_CHARS = 1024 * 1024;
/** Batches that the thread may be ahead of the store. */
export const BATCHES_AHEAD = 3;
/** Files that may end the thread in one pass before the pass is given up. */
export const MAX_RESTARTS = 8;
/** A file that holds the thread so long, whatever its budget says, ends it. */
export const STUCK_MS = 15_000;
/** The thread ends itself when it has had nothing to do for so long. */
export const IDLE_MS = 30_000;
/** Files that say how imports are written: `package.json`, `tsconfig.json`, `go.mod`. */
export const MAX_MANIFESTS = 2_000;
export const MAX_MANIFEST_BYTES = 256 * 1024;
