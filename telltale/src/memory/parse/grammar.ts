import type { Node } from 'web-tree-sitter';
import type { Reading } from './reading.ts';

/** Sees one node. It may enter it, which makes it the frame of what comes next within it. */
export type Visit = (node: Node, reading: Reading) => void;

/**
 * How a language is read: which nodes of its tree are looked at, and what is taken of each. They come in the order of
 * their first character, what contains before what is contained. The engine gathers them in one call: to step through
 * a tree from here costs more than to parse it.
 */
export interface Grammar {
  /** The file of the grammar in the package of grammars. */
  readonly wasm: string;
  readonly visits: Readonly<Record<string, Visit>>;
  /**
   * For a text in which the engine saw mistakes: the same, with what the grammar is known to misread in other words of
   * the same length. It is parsed once more, and that tree is taken if it has fewer mistakes.
   */
  readonly mend?: (text: string) => string;
}
