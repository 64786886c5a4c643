import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { headLine, oneLine, withValue } from '../signature.ts';
import { declare, isFunction, nameOf, startOf } from './declare.ts';

const head = (reading: Reading, node: Node, body: Node | null) =>
  headLine(reading.text, startOf(node, reading.text), body?.startIndex ?? node.endIndex);

export const visitClass: Visit = (node, reading) => {
  const body = node.childForFieldName('body');
  const symbol = declare(reading, node, node.childForFieldName('name'), 'class', head(reading, node, body));
  reading.enter(node, 'head', { symbol, body: symbol === undefined ? null : body });
};

/** A class that is a value is a symbol where it has a name, unless a variable that holds it is one already. */
export const visitClassExpression: Visit = (node, reading) => {
  const body = node.childForFieldName('body');
  const isHeld = reading.frame.place === 'head' && reading.frame.body === body?.startIndex;
  if (isHeld || node.childForFieldName('name') === null) return;
  visitClass(node, reading);
};

export const visitInterface: Visit = (node, reading) => {
  const body = node.childForFieldName('body');
  const symbol = declare(
    reading,
    node,
    node.childForFieldName('name'),
    'interface',
    head(reading, node, body),
  );
  reading.enter(node, 'head', { symbol, body });
};

/** A type that is an object has members as an interface has. */
export const visitTypeAlias: Visit = (node, reading) => {
  const value = node.childForFieldName('value');
  const body = value?.type === 'object_type' ? value : null;
  const signature =
    body === null ? oneLine(reading.text, node.startIndex, node.endIndex) : head(reading, node, body);
  const symbol = declare(
    reading,
    node,
    node.childForFieldName('name'),
    'type',
    signature.replace(/[;=\s]+$/, ''),
  );
  reading.enter(node, 'head', { symbol, body });
};

export const visitField: Visit = (node, reading) => {
  const isMember = reading.frame.place === 'members';
  reading.enter(node, 'head', { symbol: isMember ? field(node, reading) : undefined, body: classBody(node) });
};

function field(node: Node, reading: Reading): number | undefined {
  const name = node.childForFieldName('name') ?? node.childForFieldName('property');
  const value = node.childForFieldName('value');
  const start = startOf(node, reading.text);
  if (value !== null && isFunction(value)) {
    const end = value.childForFieldName('body')?.startIndex ?? value.endIndex;
    return declare(reading, node, name, 'method', headLine(reading.text, start, end));
  }
  const signature =
    value === null
      ? oneLine(reading.text, start, node.endIndex)
      : withValue(reading.text, start, value.startIndex, node.endIndex);
  return declare(reading, node, name, 'field', signature);
}

/** The body of a class that is a declaration's value. */
export function classBody(node: Node): Node | null {
  const value = node.childForFieldName('value');
  return value?.type === 'class' ? value.childForFieldName('body') : null;
}

/** Its members are fields. */
export const visitEnum: Visit = (node, reading) => {
  const body = node.childForFieldName('body');
  const symbol = declare(reading, node, node.childForFieldName('name'), 'enum', head(reading, node, body));
  reading.enter(node, 'head', { symbol });
  if (symbol === undefined) return;
  for (const member of body?.namedChildren ?? []) {
    if (member === null || member.isExtra) continue;
    const name = member.type === 'enum_assignment' ? member.childForFieldName('name') : member;
    const called = nameOf(reading.text, name);
    if (name === null || called === undefined || member.isError) continue;
    const signature = oneLine(reading.text, member.startIndex, member.endIndex);
    reading.add({
      name: called,
      kind: 'field',
      at: name,
      node: member,
      signature,
      doc: undefined,
      exported: 'as container',
    });
  }
};

/** What is in a module that is declared for elsewhere (`declare module 'name'`) is exported without a word. */
export const visitNamespace: Visit = (node, reading) => {
  const body = node.childForFieldName('body');
  const name = node.childForFieldName('name');
  const symbol = declare(reading, node, name, 'module', head(reading, node, body));
  reading.enter(node, 'head', { symbol, body, exported: name?.type === 'string' });
};

/** `declare …`; `declare global { … }` has a body of its own. */
export const visitAmbient: Visit = (node, reading) => {
  const block = node.namedChildren.find((child) => child?.type === 'statement_block');
  if (!block) {
    reading.enter(node, 'wrapper');
    return;
  }
  const symbol = reading.add({
    name: 'global',
    kind: 'module',
    at: node,
    node,
    signature: headLine(reading.text, node.startIndex, block.startIndex),
    doc: undefined,
    exported: true,
  });
  reading.enter(node, 'head', { symbol, body: block, exported: true });
};

/** The statements of a namespace declare its names, those of anything else local ones. */
export const visitStatements: Visit = (node, reading) => {
  const isOwn = reading.frame.place === 'head' && reading.frame.body === node.startIndex;
  reading.enter(node, isOwn ? 'namespace' : 'block', { exported: isOwn && reading.frame.exported });
};
