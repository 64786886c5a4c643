import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { headLine, oneLine, withValue } from '../signature.ts';
import { textOf } from '../text-of.ts';

const ANNOTATION = /^@[\w.]+\s*(?:\((?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*\))?\s*/;

function withoutAnnotations(signature: string): string {
  let rest = signature;
  while (rest.startsWith('@') && !rest.startsWith('@interface')) {
    const shorter = rest.replace(ANNOTATION, '');
    if (shorter === rest || shorter === '') return rest;
    rest = shorter;
  }
  return rest;
}

/** Members of an interface are public without a word. */
function visibility(node: Node, name: Node, { text, around }: Reading): boolean | 'as container' {
  const words = text.slice(Math.max(node.startIndex, name.startIndex - 400), name.startIndex);
  if (around.place !== 'members') return /\bpublic\b/.test(words);
  return around.exported || /\b(?:public|protected)\b/.test(words) ? 'as container' : false;
}

function define(node: Node, name: Node | null, reading: Reading, kind: SymbolKind, signature: string) {
  if (name === null || name.startIndex === name.endIndex) return undefined;
  return reading.add({
    name: textOf(reading.text, name),
    kind,
    at: name,
    node,
    signature: withoutAnnotations(signature),
    doc: docBefore(reading.text, node.startIndex, '//'),
    exported: visibility(node, name, reading),
  });
}

const head = (node: Node, { text }: Reading) =>
  headLine(text, node.startIndex, node.childForFieldName('body')?.startIndex ?? node.endIndex);

const visitType =
  (kind: SymbolKind): Visit =>
  (node, reading) => {
    const symbol = define(node, node.childForFieldName('name'), reading, kind, head(node, reading));
    const body = symbol === undefined ? null : node.childForFieldName('body');
    reading.enter(node, 'head', { symbol, body, exported: kind === 'interface' });
  };

export const visitClass = visitType('class');
export const visitEnum = visitType('enum');
export const visitInterface = visitType('interface');

/** Its components are fields. */
export const visitRecord: Visit = (node, reading) => {
  visitClass(node, reading);
  for (const part of node.childForFieldName('parameters')?.namedChildren ?? []) {
    const name = part?.childForFieldName('name');
    if (!part || !name) continue;
    reading.add({
      name: textOf(reading.text, name),
      kind: 'field',
      at: name,
      node: part,
      signature: oneLine(reading.text, part.startIndex, part.endIndex),
      doc: undefined,
      exported: 'as container',
    });
  }
};

export const visitConstant: Visit = (node, reading) => {
  const { text, frame } = reading;
  const name = node.childForFieldName('name');
  if (frame.place === 'members' && name !== null)
    reading.add({
      name: textOf(text, name),
      kind: 'field',
      at: name,
      node,
      signature: head(node, reading),
      doc: docBefore(text, node.startIndex, '//'),
      exported: 'as container',
    });
  reading.enter(node, 'head');
};

export const visitMethod: Visit = (node, reading) => {
  const isMember = reading.frame.place === 'members';
  const name = node.childForFieldName('name');
  const symbol = isMember ? define(node, name, reading, 'method', head(node, reading)) : undefined;
  reading.enter(node, 'head', { symbol });
};

/** Each of `int a, b = 1`. */
export const visitFields: Visit = (node, reading) => {
  const { text, frame } = reading;
  const symbols =
    frame.place !== 'members'
      ? []
      : node.childrenForFieldName('declarator').map((declarator) => {
          const value = declarator?.childForFieldName('value') ?? null;
          const end = node.endIndex - (text[node.endIndex - 1] === ';' ? 1 : 0);
          const signature =
            value === null
              ? oneLine(text, node.startIndex, end)
              : withValue(text, node.startIndex, value.startIndex, end);
          return define(node, declarator?.childForFieldName('name') ?? null, reading, 'field', signature);
        });
  reading.enter(node, 'head', { symbol: symbols[0] });
};
