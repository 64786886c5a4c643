import type { Node } from 'web-tree-sitter';

/** The text of a node. It is cut from the source: to have it from the engine crosses its border for each piece. */
export const textOf = (text: string, node: Node): string => text.slice(node.startIndex, node.endIndex);
