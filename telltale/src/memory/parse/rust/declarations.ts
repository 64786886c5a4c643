import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { headLine, oneLine } from '../signature.ts';
import { textOf } from '../text-of.ts';

type Exported = boolean | 'as container';

/** `pub`; in a trait and in the implementation of one all is as public as that. */
function visibility(node: Node, { text, frame }: Reading): Exported {
  if (/^pub\b/.test(text.slice(node.startIndex, node.startIndex + 4))) return true;
  return frame.place === 'members' && frame.exported ? 'as container' : false;
}

function define(node: Node, reading: Reading, kind: SymbolKind, exported = visibility(node, reading)) {
  const { text } = reading;
  const name = node.childForFieldName('name');
  if (name === null || name.startIndex === name.endIndex) return undefined;
  const body = node.childForFieldName('body');
  const isOpened = body !== null && text[body.startIndex] === '{';
  return reading.add({
    name: textOf(text, name),
    kind,
    at: name,
    node,
    signature: isOpened
      ? headLine(text, node.startIndex, body.startIndex)
      : oneLine(text, node.startIndex, node.endIndex).replace(/;$/, ''),
    doc: docBefore(text, reading.decoratedStart(node), '//'),
    exported,
  });
}

export const visitFunction: Visit = (node, reading) => {
  const kind = reading.frame.place === 'members' ? 'method' : 'function';
  reading.enter(node, 'head', { symbol: define(node, reading, kind) });
};

/** Structs and unions are classes here. */
export const visitStruct: Visit = (node, reading) => {
  const symbol = define(node, reading, 'class');
  reading.enter(node, 'head', { symbol, body: node.childForFieldName('body') });
};

export const visitField: Visit = (node, reading) => {
  if (reading.frame.place === 'members') define(node, reading, 'field');
};

export const visitEnum: Visit = (node, reading) => {
  const symbol = define(node, reading, 'enum');
  reading.enter(node, 'head', { symbol, body: node.childForFieldName('body') });
};

export const visitVariant: Visit = (node, reading) => {
  if (reading.frame.place === 'members') define(node, reading, 'field', 'as container');
  reading.enter(node, 'head');
};

export const visitTrait: Visit = (node, reading) => {
  const symbol = define(node, reading, 'interface');
  reading.enter(node, 'members', { symbol, exported: true });
};

/** Its methods stand in the type, where that is declared further up in the file. */
export const visitImplementation: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  const name = type === null ? undefined : /^(?:\w+::)*(\w+)/.exec(textOf(reading.text, type))?.[1];
  const symbol = name === undefined ? undefined : reading.find(name);
  reading.enter(node, 'members', { symbol, exported: node.childForFieldName('trait') !== null });
};

/** `mod name;` is the file of that name. */
export const visitModule: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  if (name === null) return;
  if (node.childForFieldName('body') !== null)
    reading.enter(node, 'namespace', { symbol: define(node, reading, 'module') });
  else
    reading.import({
      specifier: `self::${textOf(reading.text, name)}`,
      line: node.startPosition.row + 1,
      names: ['*'],
    });
};

export const visitConstant: Visit = (node, reading) => {
  const { place } = reading.frame;
  if (place === 'block') return;
  const symbol = define(node, reading, place === 'members' ? 'field' : 'variable');
  reading.enter(node, 'head', { symbol });
};

export const visitType: Visit = (node, reading) => {
  if (reading.frame.place !== 'block') define(node, reading, 'type');
};

/** It is called like a function. */
export const visitMacroDefinition: Visit = (node, reading) => {
  const { text } = reading;
  const name = node.childForFieldName('name');
  if (name === null) return;
  const start = reading.decoratedStart(node);
  reading.add({
    name: textOf(text, name),
    kind: 'function',
    at: name,
    node,
    signature: `macro_rules! ${textOf(text, name)}`,
    doc: docBefore(text, start, '//'),
    exported: text.slice(start, node.startIndex).includes('macro_export'),
  });
  reading.enter(node, 'block');
};
