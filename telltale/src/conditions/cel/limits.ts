/** Characters of an expression. */
export const MAX_EXPRESSION_LENGTH = 4_096;
/** Nodes of its syntax tree: also the depth of a chain such as `a + a + a + …`. */
export const MAX_NODES = 1_000;
/** Nesting of brackets, calls, selections and ternaries. */
export const MAX_DEPTH = 48;
/** Elements of one list literal, entries of one map literal. */
export const MAX_LITERAL_ITEMS = 256;
/** Arguments of one call. */
export const MAX_ARGUMENTS = 8;
/** Macros inside macros (`all` in `exists` in `map`). */
export const MAX_MACRO_NESTING = 4;
/**
 * What one evaluation may spend: 1 for each node that runs and each element that is made or compared, 1 for each 64
 * characters of text that is made or read. A spent budget is a typed error after a few milliseconds
 * (docs/decisions/cel.md has the figures).
 */
export const MAX_COST = 200_000;
/** Characters of a text that an expression makes. */
export const MAX_TEXT_LENGTH = 1_048_576;
/** Nesting of values that are compared or returned. */
export const MAX_VALUE_DEPTH = 64;
