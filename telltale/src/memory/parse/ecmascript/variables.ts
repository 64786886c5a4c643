import type { Node } from 'web-tree-sitter';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import { MAX_PATTERN_DEPTH } from '../limits.ts';
import type { Reading } from '../reading.ts';
import { headLine, oneLine, withValue } from '../signature.ts';
import { textOf } from '../text-of.ts';
import { isFunction } from './declare.ts';
import { classBody } from './types.ts';

/** Variables of a function are no symbols; those of a module or a namespace are. */
export const visitVariables: Visit = (node, reading) => {
  const { place } = reading.around;
  reading.enter(node, place === 'file' || place === 'namespace' ? 'wrapper' : 'block');
};

export const visitVariable: Visit = (node, reading) => {
  if (reading.frame.place !== 'wrapper') return;
  const name = node.childForFieldName('name');
  if (name === null) return;
  const value = node.childForFieldName('value');
  const symbols = bound(name, 0).map((identifier) =>
    variable(reading, node, identifier, value, name === identifier),
  );
  reading.enter(node, 'head', { symbol: symbols[0], body: classBody(node) });
};

function variable(reading: Reading, node: Node, at: Node, value: Node | null, isWhole: boolean) {
  const { text, frame } = reading;
  const before = text.slice(frame.start, Math.min(node.startIndex, frame.start + 200));
  const keyword = /\b(?:const|let|var|using)\b/.exec(before)?.[0] ?? 'const';
  const isFirst = !/[,=]/.test(before);
  const isCalled = isWhole && value !== null && isFunction(value);
  const isClass = isWhole && value?.type === 'class';
  const signature =
    isCalled || isClass
      ? headLine(text, node.startIndex, value?.childForFieldName('body')?.startIndex ?? node.endIndex)
      : value === null
        ? oneLine(text, node.startIndex, node.endIndex)
        : withValue(text, node.startIndex, value.startIndex, node.endIndex);
  return reading.add({
    name: textOf(text, at),
    kind: isCalled ? 'function' : isClass ? 'class' : 'variable',
    at,
    node,
    signature: `${keyword} ${signature}`,
    doc: docBefore(text, isFirst ? frame.start : node.startIndex, '//'),
    exported: frame.exported || (reading.around.place === 'namespace' && reading.around.exported),
  });
}

/** The names that a pattern binds; those that its defaults use are not among them. */
function bound(pattern: Node, depth: number): readonly Node[] {
  if (pattern.type === 'identifier' || pattern.type === 'shorthand_property_identifier_pattern')
    return pattern.startIndex === pattern.endIndex ? [] : [pattern];
  if (depth > MAX_PATTERN_DEPTH) return [];
  if (pattern.type === 'pair_pattern') return boundBy(pattern.childForFieldName('value'), depth);
  if (pattern.type === 'object_assignment_pattern' || pattern.type === 'assignment_pattern')
    return boundBy(pattern.childForFieldName('left'), depth);
  return pattern.namedChildren.flatMap((child) => boundBy(child, depth));
}

const boundBy = (pattern: Node | null, depth: number) => (pattern === null ? [] : bound(pattern, depth + 1));
