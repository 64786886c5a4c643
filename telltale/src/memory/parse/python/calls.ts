import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { receiverOf } from '../receiver-of.ts';
import { textOf } from '../text-of.ts';

export const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee === null) return;
  const written = callee.endIndex - callee.startIndex < 100 ? textOf(reading.text, callee) : '';
  if (written === 'importlib.import_module' || written === 'import_module' || written === '__import__')
    importByCall(node, reading);
  else if (written !== 'super') called(callee, reading);
};

/** `@name`; that of `@name()` is a call already. */
export const visitDecorator: Visit = (node, reading) => {
  const named = node.firstNamedChild;
  if (named?.type === 'identifier' || named?.type === 'attribute') called(named, reading);
};

function called(callee: Node, reading: Reading): void {
  const { text } = reading;
  if (callee.type === 'identifier') {
    reading.call(textOf(text, callee), undefined, callee.startPosition.row + 1);
    return;
  }
  const name = callee.type === 'attribute' ? callee.childForFieldName('attribute') : null;
  const object = callee.childForFieldName('object');
  if (name !== null && object !== null)
    reading.call(textOf(text, name), receiverOf(text, object), name.startPosition.row + 1);
}

function importByCall(node: Node, reading: Reading): void {
  const first = node.childForFieldName('arguments')?.firstNamedChild;
  const specifier =
    first?.type === 'string' ? /^["']([\w.]+)["']$/.exec(textOf(reading.text, first))?.[1] : undefined;
  if (specifier !== undefined) reading.import({ specifier, line: node.startPosition.row + 1, names: ['*'] });
}
