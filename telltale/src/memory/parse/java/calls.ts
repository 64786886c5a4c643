import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { receiverOf } from '../receiver-of.ts';
import { textOf } from '../text-of.ts';

/** `a.b.C` is the class `C`; `static a.b.C.d` is `d` of the class `a.b.C`; `a.b.*` is all of it. */
export const visitImport: Visit = (node, reading) => {
  const path = node.namedChildren.find(
    (child) => child?.type === 'scoped_identifier' || child?.type === 'identifier',
  );
  if (!path) return;
  const written = textOf(reading.text, path).replace(/\s+/g, '');
  const last = written.slice(written.lastIndexOf('.') + 1);
  const isStatic = /^import\s+static\b/.test(reading.text.slice(node.startIndex, node.startIndex + 40));
  const isAll = node.namedChildren.some((child) => child?.type === 'asterisk');
  const line = node.startPosition.row + 1;
  if (isAll) reading.import({ specifier: written, line, names: ['*'] });
  else if (isStatic) reading.import({ specifier: written.slice(0, -last.length - 1), line, names: [last] });
  else reading.import({ specifier: written, line, names: [last] });
};

export const visitCall: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  const object = node.childForFieldName('object');
  if (name !== null)
    reading.call(
      textOf(reading.text, name),
      object ? receiverOf(reading.text, object) : undefined,
      lineOf(name),
    );
};

export const visitNew: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  const made = type?.type === 'generic_type' ? type.firstNamedChild : type;
  if (made) byPath(made, reading);
};

export const visitAnnotation: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  if (name !== null) byPath(name, reading);
};

/** `Outer.Inner`: the last is what is called. */
function byPath(node: Node, reading: Reading): void {
  const written = textOf(reading.text, node).replace(/\s+/g, '');
  const dot = written.lastIndexOf('.');
  reading.call(written.slice(dot + 1), dot === -1 ? undefined : written.slice(0, dot), lineOf(node));
}

const lineOf = (node: Node) => node.startPosition.row + 1;
