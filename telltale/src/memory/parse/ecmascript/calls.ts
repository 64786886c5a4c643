import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { receiverOf } from '../receiver-of.ts';
import { textOf } from '../text-of.ts';
import { importCall } from './modules.ts';

export const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee === null) return;
  const isRequire = callee.type === 'identifier' && textOf(reading.text, callee) === 'require';
  if (callee.type === 'import' || isRequire) importCall(node, reading);
  else called(callee, reading);
};

export const visitNew: Visit = (node, reading) => {
  const callee = node.childForFieldName('constructor');
  if (callee !== null) called(callee, reading);
};

/** `@name`; that of `@name()` is a call already. Decorators of methods stand before them in the tree. */
export const visitDecorator: Visit = (node, reading) => {
  reading.decorator(node);
  const named = node.namedChildren.find(
    (child) => child?.type === 'identifier' || child?.type === 'member_expression',
  );
  if (named) called(named, reading);
};

/** Components are called, elements of the page (`div`) are not. */
export const visitElement: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  if (name === null || (name.type === 'identifier' && !/^[A-Z_$]/.test(reading.text[name.startIndex]!)))
    return;
  called(name, reading);
};

function called(callee: Node, reading: Reading): void {
  const { text } = reading;
  let node: Node | null = callee;
  while (node?.type === 'non_null_expression') node = node.firstNamedChild;
  if (node?.type === 'identifier') {
    reading.call(textOf(text, node), undefined, node.startPosition.row + 1);
    return;
  }
  const property = node?.type === 'member_expression' ? node.childForFieldName('property') : null;
  const object = node?.childForFieldName('object') ?? null;
  if (property === null || object === null || property.startIndex === property.endIndex) return;
  reading.call(textOf(text, property), receiverOf(text, object), property.startPosition.row + 1);
}
