import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { receiverOf } from '../receiver-of.ts';
import { textOf } from '../text-of.ts';

/** A package is taken whole; `_` takes nothing of it. */
export const visitImport: Visit = (node, reading) => {
  const path = node.childForFieldName('path');
  const name = node.childForFieldName('name');
  if (path === null) return;
  const names = name?.type === 'blank_identifier' ? [] : ['*'];
  reading.import({
    specifier: textOf(reading.text, path).slice(1, -1),
    line: node.startPosition.row + 1,
    names,
  });
};

export const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee !== null) called(callee, reading);
};

/** `Session{…}` makes one, as a call would. */
export const visitLiteral: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  if (type !== null) called(type, reading);
};

/** `Map[int](x)`: the grammar cannot tell it from a conversion to a type. */
export const visitGenericCall: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  if (type?.type === 'generic_type') called(type, reading);
};

function called(callee: Node, reading: Reading): void {
  const { text } = reading;
  switch (callee.type) {
    case 'identifier':
    case 'type_identifier':
      reading.call(textOf(text, callee), undefined, callee.startPosition.row + 1);
      return;
    case 'selector_expression':
      on(callee.childForFieldName('operand'), callee.childForFieldName('field'), reading);
      return;
    case 'qualified_type':
      on(callee.childForFieldName('package'), callee.childForFieldName('name'), reading);
      return;
    case 'generic_type': {
      const inner = callee.firstNamedChild;
      if (inner !== null && inner.type !== 'generic_type') called(inner, reading);
      return;
    }
  }
}

function on(object: Node | null, name: Node | null, reading: Reading): void {
  if (object === null || name === null) return;
  reading.call(textOf(reading.text, name), receiverOf(reading.text, object), name.startPosition.row + 1);
}
