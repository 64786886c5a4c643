import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import type { Grammar, Visit } from '../grammar.ts';
import {
  docBefore,
  headLine,
  oneLine,
  receiverOf,
  textOf,
  visitBlock,
  visitBody,
  withValue,
} from '../grammar.ts';
import type { Reading } from '../reading.ts';

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

const visitClass = visitType('class');
const visitEnum = visitType('enum');
const visitInterface = visitType('interface');

/** Its components are fields. */
const visitRecord: Visit = (node, reading) => {
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

const visitConstant: Visit = (node, reading) => {
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

const visitMethod: Visit = (node, reading) => {
  const isMember = reading.frame.place === 'members';
  const name = node.childForFieldName('name');
  const symbol = isMember ? define(node, name, reading, 'method', head(node, reading)) : undefined;
  reading.enter(node, 'head', { symbol });
};

/** Each of `int a, b = 1`. */
const visitFields: Visit = (node, reading) => {
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

/** `a.b.C` is the class `C`; `static a.b.C.d` is `d` of the class `a.b.C`; `a.b.*` is all of it. */
const visitImport: Visit = (node, reading) => {
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

const visitCall: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  const object = node.childForFieldName('object');
  if (name !== null)
    reading.call(
      textOf(reading.text, name),
      object ? receiverOf(reading.text, object) : undefined,
      lineOf(name),
    );
};

const visitNew: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  const made = type?.type === 'generic_type' ? type.firstNamedChild : type;
  if (made) byPath(made, reading);
};

const visitAnnotation: Visit = (node, reading) => {
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

export const JAVA: Grammar = {
  wasm: 'tree-sitter-java.wasm',
  visits: {
    class_declaration: visitClass,
    record_declaration: visitRecord,
    interface_declaration: visitInterface,
    annotation_type_declaration: visitInterface,
    enum_declaration: visitEnum,
    class_body: visitBody,
    interface_body: visitBody,
    annotation_type_body: visitBody,
    enum_body: visitBody,
    enum_constant: visitConstant,
    field_declaration: visitFields,
    constant_declaration: visitFields,
    method_declaration: visitMethod,
    constructor_declaration: visitMethod,
    compact_constructor_declaration: visitMethod,
    annotation_type_element_declaration: visitMethod,
    block: visitBlock,
    import_declaration: visitImport,
    method_invocation: visitCall,
    object_creation_expression: visitNew,
    marker_annotation: visitAnnotation,
    annotation: visitAnnotation,
  },
};
