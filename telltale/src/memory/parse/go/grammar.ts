import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import type { Grammar, Visit } from '../grammar.ts';
import { docBefore, headLine, oneLine, receiverOf, textOf, visitBlock, withValue } from '../grammar.ts';
import { MAX_NAME, type Reading } from '../reading.ts';

const isPublic = (name: string) => /^\p{Lu}/u.test(name);

/** The comment stands before the name in a group, else before `type`, `const` or `var`. */
function docOf(node: Node, { text, frame }: Reading): string | undefined {
  const isAlone = frame.place === 'wrapper' && !text.slice(frame.start, node.startIndex).includes('(');
  return docBefore(text, isAlone ? frame.start : node.startIndex, '//');
}

function define(
  node: Node,
  name: Node | null,
  reading: Reading,
  kind: SymbolKind,
  signature: string,
  container?: number,
): number | undefined {
  if (name === null || name.startIndex === name.endIndex) return undefined;
  const called = textOf(reading.text, name);
  if (called === '_') return undefined;
  const exported = isPublic(called) && reading.around.place !== 'block';
  return reading.add({
    name: called,
    kind,
    at: name,
    node,
    signature,
    doc: docOf(node, reading),
    exported,
    container,
  });
}

const head = (node: Node, { text }: Reading) =>
  headLine(text, node.startIndex, node.childForFieldName('body')?.startIndex ?? node.endIndex);

const visitFunction: Visit = (node, reading) => {
  const symbol = define(node, node.childForFieldName('name'), reading, 'function', head(node, reading));
  reading.enter(node, 'head', { symbol });
};

/** It stands in its receiver's type where that is declared further up. */
const visitMethod: Visit = (node, reading) => {
  const receiver = node.childForFieldName('receiver');
  const written =
    receiver === null ? '' : reading.text.slice(receiver.startIndex, receiver.endIndex).slice(-MAX_NAME);
  const type = /(\w+)\s*(?:\[[^\]]*\])?\s*,?\s*\)$/.exec(written)?.[1];
  const container = type === undefined ? undefined : reading.find(type);
  const symbol = define(
    node,
    node.childForFieldName('name'),
    reading,
    'method',
    head(node, reading),
    container,
  );
  reading.enter(node, 'head', { symbol });
};

/** Structs are classes here. */
const visitType: Visit = (node, reading) => {
  const { text } = reading;
  const type = node.childForFieldName('type');
  const isStruct = type?.type === 'struct_type';
  const isInterface = type?.type === 'interface_type';
  const brace = isStruct || isInterface ? text.indexOf('{', type.startIndex) : -1;
  const signature = `type ${headLine(text, node.startIndex, brace === -1 ? node.endIndex : Math.min(brace, node.endIndex))}`;
  const kind = isStruct ? 'class' : isInterface ? 'interface' : 'type';
  const symbol = define(node, node.childForFieldName('name'), reading, kind, signature);
  reading.enter(node, (isStruct || isInterface) && symbol !== undefined ? 'members' : 'head', { symbol });
};

/** Each name of `A, B int`; what is embedded has no name of its own. */
const visitField: Visit = (node, reading) => {
  const { text, frame } = reading;
  if (frame.place === 'members')
    for (const name of node.childrenForFieldName('name'))
      if (name?.type === 'field_identifier')
        define(node, name, reading, 'field', oneLine(text, node.startIndex, node.endIndex));
  reading.enter(node, 'head');
};

const visitMethodOfInterface: Visit = (node, reading) => {
  const isMember = reading.frame.place === 'members';
  const signature = oneLine(reading.text, node.startIndex, node.endIndex);
  if (isMember) define(node, node.childForFieldName('name'), reading, 'method', signature);
  reading.enter(node, 'head');
};

const visitVariables: Visit = (node, reading) => {
  const { text, frame, around } = reading;
  if (around.place !== 'file') return;
  const value = node.childForFieldName('value');
  const keyword = /^\w+/.exec(text.slice(frame.start, frame.start + 8))?.[0] ?? 'var';
  const names = node.childrenForFieldName('name').filter((name) => name?.type === 'identifier');
  const isFunction = names.length === 1 && value?.firstNamedChild?.type === 'func_literal';
  const body = isFunction ? value?.firstNamedChild?.childForFieldName('body') : null;
  const signature = body
    ? headLine(text, node.startIndex, body.startIndex)
    : value === null
      ? oneLine(text, node.startIndex, node.endIndex)
      : withValue(text, node.startIndex, value.startIndex, node.endIndex);
  const symbols = names.map((name) =>
    define(node, name, reading, isFunction ? 'function' : 'variable', `${keyword} ${signature}`),
  );
  reading.enter(node, 'head', { symbol: symbols[0] });
};

/** A package is taken whole; `_` takes nothing of it. */
const visitImport: Visit = (node, reading) => {
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

const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee !== null) called(callee, reading);
};

/** `Session{…}` makes one, as a call would. */
const visitLiteral: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  if (type !== null) called(type, reading);
};

/** `Map[int](x)`: the grammar cannot tell it from a conversion to a type. */
const visitGenericCall: Visit = (node, reading) => {
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

const visitGroup: Visit = (node, reading) => {
  reading.enter(node, 'wrapper');
};

export const GO: Grammar = {
  wasm: 'tree-sitter-go.wasm',
  visits: {
    function_declaration: visitFunction,
    method_declaration: visitMethod,
    block: visitBlock,
    type_declaration: visitGroup,
    const_declaration: visitGroup,
    var_declaration: visitGroup,
    type_spec: visitType,
    type_alias: visitType,
    const_spec: visitVariables,
    var_spec: visitVariables,
    field_declaration: visitField,
    method_elem: visitMethodOfInterface,
    import_spec: visitImport,
    call_expression: visitCall,
    composite_literal: visitLiteral,
    type_conversion_expression: visitGenericCall,
  },
};
