import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import { docBefore } from '../doc-comment.ts';
import type { Reading } from '../reading.ts';
import { textOf } from '../text-of.ts';

/** The name that a declaration gives, without quotes; undefined where a mistake in the source left none. */
export function nameOf(text: string, name: Node | null): string | undefined {
  if (name === null) return undefined;
  const written = textOf(text, name).replace(/\s+/g, ' ');
  const bare = name.type === 'string' ? written.slice(1, -1) : written;
  return bare === '' ? undefined : bare;
}

/** The comment stands before `export` and before decorators. */
function docOf(reading: Reading, node: Node): string | undefined {
  const { frame } = reading;
  const start = frame.place === 'wrapper' ? frame.start : reading.decoratedStart(node);
  return docBefore(reading.text, start, '//');
}

/** Where a declaration begins behind its decorators. */
export function startOf(node: Node, text: string): number {
  if (text[node.startIndex] !== '@') return node.startIndex;
  return node.children.find((child) => child?.type !== 'decorator')?.startIndex ?? node.startIndex;
}

/** What stands in classes and interfaces is seen as far as they are, unless it is private. */
function visibility(reading: Reading, node: Node, name: Node): boolean | 'as container' {
  const { frame, around } = reading;
  if (around.place !== 'members')
    return (frame.place === 'wrapper' && frame.exported) || (around.place === 'namespace' && around.exported);
  const hidden =
    name.type === 'private_property_identifier' || /\bprivate\b/.test(modifiers(reading, node, name));
  return hidden ? false : 'as container';
}

export const modifiers = (reading: Reading, node: Node, name: Node): string =>
  reading.text.slice(Math.max(node.startIndex, name.startIndex - 200), name.startIndex);

export const isFunction = ({ type }: Node): boolean =>
  type === 'arrow_function' || type === 'function_expression' || type === 'generator_function';

/** Adds a symbol for a declaration that has a name. */
export function declare(
  reading: Reading,
  node: Node,
  name: Node | null,
  kind: SymbolKind,
  signature: string,
): number | undefined {
  const called = nameOf(reading.text, name);
  if (name === null || called === undefined) return undefined;
  return reading.add({
    name: called,
    kind,
    at: name,
    node,
    signature,
    doc: docOf(reading, node),
    exported: visibility(reading, node, name),
  });
}
