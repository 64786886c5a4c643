import type { Node } from 'web-tree-sitter';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import { MAX_RECEIVER } from '../limits.ts';
import type { Reading } from '../reading.ts';
import { headLine, withValue } from '../signature.ts';
import { textOf } from '../text-of.ts';
import { isFunction } from './declare.ts';
import { visitVariable } from './variables.ts';

/** What older scripts declare by setting it: `exports.a = …`, `module.exports = …`, `A.prototype.b = function …`. */
export const visitAssignment: Visit = (node, reading) => {
  if (reading.frame.place !== 'file') return;
  const left = node.childForFieldName('left');
  const right = node.childForFieldName('right');
  if (left?.type !== 'member_expression' || right === null || left.endIndex - left.startIndex > MAX_RECEIVER)
    return;
  const path = textOf(reading.text, left).replace(/\s/g, '').split('.');
  const name = path[path.length - 1]!;
  const owner = path.slice(0, -1).join('.');
  if (owner === 'module' && name === 'exports') exportWhole(node, left, right, reading);
  else if (owner === 'exports' || owner === 'module.exports') {
    if (right.type === 'identifier') reading.exportName(textOf(reading.text, right));
    else set(node, left, right, name, reading, true);
  } else if (isFunction(right) && /^[\w$]+(?:\.prototype)?$/.test(owner)) {
    const container = reading.find(owner.replace('.prototype', ''));
    if (container !== undefined) set(node, left, right, name, reading, 'as container', container);
  }
};

/** `const { a } = require('…')` declares nothing: it is an import. */
export const visitScriptVariable: Visit = (node, reading) => {
  const value = node.childForFieldName('value');
  if (value === null || !/^require\s*\(/.test(reading.text.slice(value.startIndex, value.startIndex + 20)))
    visitVariable(node, reading);
};

function exportWhole(node: Node, left: Node, right: Node, reading: Reading): void {
  if (right.type === 'identifier') reading.exportName(textOf(reading.text, right));
  else if (isFunction(right) || right.type === 'class') {
    const own = right.childForFieldName('name');
    set(node, left, right, own === null ? 'default' : textOf(reading.text, own), reading, true);
  } else if (right.type === 'object')
    for (const part of right.namedChildren) {
      const value = part?.type === 'pair' ? part.childForFieldName('value') : part;
      if (value?.type === 'identifier' || value?.type === 'shorthand_property_identifier')
        reading.exportName(textOf(reading.text, value));
    }
}

function set(
  node: Node,
  left: Node,
  right: Node,
  name: string,
  reading: Reading,
  exported: boolean | 'as container',
  container?: number,
): void {
  const { text } = reading;
  const body = right.childForFieldName('body');
  const isClass = right.type === 'class';
  const hasHead = isClass || isFunction(right);
  const symbol = reading.add({
    name,
    kind: isClass ? 'class' : !hasHead ? 'variable' : container === undefined ? 'function' : 'method',
    at: left.childForFieldName('property') ?? left,
    node,
    signature: hasHead
      ? headLine(text, node.startIndex, body?.startIndex ?? node.endIndex)
      : withValue(text, node.startIndex, right.startIndex, node.endIndex),
    doc: docBefore(text, node.startIndex, '//'),
    exported,
    container,
  });
  reading.enter(node, 'head', { symbol, body: isClass ? body : null });
}
