/** What is kept of one file; more of it is left out and the file is called `broken`. */
export const MAX_SYMBOLS = 10_000;
export const MAX_CALLS = 20_000;
export const MAX_IMPORTS = 5_000;
/** Names taken by one import: a line of generated code may take thousands. */
export const MAX_IMPORTED_NAMES = 500;

/** Characters of a text that are read. A tree takes some twenty times as much memory as its text. */
export const MAX_CHARS = 2 * 1024 * 1024;

/** Characters of what is said of one symbol, call or import. */
export const MAX_NAME = 200;
export const MAX_SIGNATURE = 200;
export const MAX_DOC = 200;
export const MAX_RECEIVER = 80;
export const MAX_SPECIFIER = 1_000;

/** Values of variables and fields that are longer, or have several lines, are left out of signatures. */
export const MAX_SHOWN_VALUE = 80;

/** Patterns (`const { a: { b } } = …`) that stand within each other. */
export const MAX_PATTERN_DEPTH = 32;
