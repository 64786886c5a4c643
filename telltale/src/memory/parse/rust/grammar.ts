import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import type { Grammar, Visit } from '../grammar.ts';
import { docBefore, headLine, oneLine, receiverOf, textOf, visitBlock, visitBody } from '../grammar.ts';
import { MAX_PATTERN_DEPTH, MAX_SPECIFIER, type Reading } from '../reading.ts';

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

const visitFunction: Visit = (node, reading) => {
  const kind = reading.frame.place === 'members' ? 'method' : 'function';
  reading.enter(node, 'head', { symbol: define(node, reading, kind) });
};

/** Structs and unions are classes here. */
const visitStruct: Visit = (node, reading) => {
  const symbol = define(node, reading, 'class');
  reading.enter(node, 'head', { symbol, body: node.childForFieldName('body') });
};

const visitField: Visit = (node, reading) => {
  if (reading.frame.place === 'members') define(node, reading, 'field');
};

const visitEnum: Visit = (node, reading) => {
  const symbol = define(node, reading, 'enum');
  reading.enter(node, 'head', { symbol, body: node.childForFieldName('body') });
};

const visitVariant: Visit = (node, reading) => {
  if (reading.frame.place === 'members') define(node, reading, 'field', 'as container');
  reading.enter(node, 'head');
};

const visitTrait: Visit = (node, reading) => {
  const symbol = define(node, reading, 'interface');
  reading.enter(node, 'members', { symbol, exported: true });
};

/** Its methods stand in the type, where that is declared further up in the file. */
const visitImplementation: Visit = (node, reading) => {
  const type = node.childForFieldName('type');
  const name = type === null ? undefined : /^(?:\w+::)*(\w+)/.exec(textOf(reading.text, type))?.[1];
  const symbol = name === undefined ? undefined : reading.find(name);
  reading.enter(node, 'members', { symbol, exported: node.childForFieldName('trait') !== null });
};

/** `mod name;` is the file of that name. */
const visitModule: Visit = (node, reading) => {
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

const visitConstant: Visit = (node, reading) => {
  const { place } = reading.frame;
  if (place === 'block') return;
  const symbol = define(node, reading, place === 'members' ? 'field' : 'variable');
  reading.enter(node, 'head', { symbol });
};

const visitType: Visit = (node, reading) => {
  if (reading.frame.place !== 'block') define(node, reading, 'type');
};

/** It is called like a function. */
const visitMacroDefinition: Visit = (node, reading) => {
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

const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee !== null) called(callee, reading);
};

/** By its name without the `!`, as it is defined. */
const visitMacro: Visit = (node, reading) => {
  const macro = node.childForFieldName('macro');
  if (macro !== null) called(macro, reading);
};

/** What is handed to a macro is not parsed: `println!("{}", price(1))` has a name and something in brackets behind it. */
const visitTokens: Visit = (node, reading) => {
  if (isOfAttribute(node)) return;
  const { text } = reading;
  const tokens = node.children;
  for (const [at, token] of tokens.entries()) {
    if (token?.type !== 'identifier') continue;
    const next = tokens[at + 1];
    const tree = next?.type === '!' ? tokens[at + 2] : next;
    if (tree?.type !== 'token_tree') continue;
    if (next === tree && text[tree.startIndex] !== '(') continue;
    const isOn = tokens[at - 1]?.type === '.' || tokens[at - 1]?.type === '::';
    const before = isOn ? tokens[at - 2] : undefined;
    const isName = before?.type === 'identifier' || before?.type === 'self';
    const receiver = isName ? textOf(text, before) : undefined;
    reading.call(textOf(text, token), receiver, token.startPosition.row + 1);
  }
};

const MAX_TREES = 16;

/** `#[cfg(any(unix))]` calls nothing. */
function isOfAttribute(node: Node): boolean {
  let above = node.parent;
  for (let trees = 0; above?.type === 'token_tree'; trees++) {
    if (trees >= MAX_TREES) return true;
    above = above.parent;
  }
  return above?.type === 'attribute';
}

const visitStructLiteral: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  if (name !== null) called(name, reading);
};

function called(written: Node, reading: Reading): void {
  const { text } = reading;
  const callee = written.type === 'generic_function' ? written.childForFieldName('function') : written;
  switch (callee?.type) {
    case 'identifier':
    case 'type_identifier':
      reading.call(textOf(text, callee), undefined, callee.startPosition.row + 1);
      return;
    case 'scoped_identifier':
    case 'scoped_type_identifier':
      on(callee.childForFieldName('path'), callee.childForFieldName('name'), reading);
      return;
    case 'field_expression':
      on(callee.childForFieldName('value'), callee.childForFieldName('field'), reading);
      return;
    case 'generic_type_with_turbofish': {
      const type = callee.childForFieldName('type');
      if (type !== null && type.type !== callee.type) called(type, reading);
      return;
    }
  }
}

/** `Map::<K, V>::new()` is on `Map`. */
function on(path: Node | null, name: Node | null, reading: Reading): void {
  if (name === null) return;
  const object = path?.type === 'generic_type' ? path.childForFieldName('type') : path;
  const receiver = object ? receiverOf(reading.text, object) : undefined;
  reading.call(textOf(reading.text, name), receiver, name.startPosition.row + 1);
}

/** Each leaf of a tree is an import by its whole path: `use a::{b, c::*}` is `a::b` and all of `a::c`. */
const visitUse: Visit = (node, reading) => {
  const tree = node.childForFieldName('argument');
  const isPublic = /^pub\b/.test(reading.text.slice(node.startIndex, node.startIndex + 4));
  if (tree !== null) leaves(tree, '', node.startPosition.row + 1, isPublic, reading, 0);
};

const visitCrate: Visit = (node, reading) => {
  const name = node.childForFieldName('name');
  if (name !== null)
    reading.import({ specifier: textOf(reading.text, name), line: node.startPosition.row + 1, names: ['*'] });
};

function leaves(
  node: Node,
  prefix: string,
  line: number,
  isPublic: boolean,
  reading: Reading,
  depth: number,
): void {
  const written = (part: Node | null) =>
    part === null ? '' : textOf(reading.text, part).replace(/\s+/g, '');
  const below = (path: string) => [prefix, path].filter((part) => part !== '').join('::');
  const take = (specifier: string, name: string) =>
    reading.import({ specifier, line, names: [name], ...(isPublic ? { reexport: true as const } : {}) });
  if (depth > MAX_PATTERN_DEPTH || prefix.length > MAX_SPECIFIER) return;
  switch (node.type) {
    case 'use_list':
      for (const child of node.namedChildren)
        if (child !== null) leaves(child, prefix, line, isPublic, reading, depth + 1);
      return;
    case 'scoped_use_list': {
      const list = node.childForFieldName('list');
      const path = below(written(node.childForFieldName('path')));
      if (list !== null) leaves(list, path, line, isPublic, reading, depth + 1);
      return;
    }
    case 'use_wildcard':
      take(below(written(node.firstNamedChild)), '*');
      return;
    case 'use_as_clause': {
      const path = written(node.childForFieldName('path'));
      const name = path.slice(path.lastIndexOf(':') + 1);
      const alias = written(node.childForFieldName('alias'));
      if (path === 'self') take(prefix, '*');
      else take(below(path), name);
      if (alias !== '_' && name !== 'self') reading.alias(alias, name);
      return;
    }
    case 'self':
      take(prefix === '' ? 'self' : prefix, '*');
      return;
    case 'identifier':
    case 'scoped_identifier':
    case 'crate':
    case 'super': {
      const path = below(written(node));
      take(path, path.slice(path.lastIndexOf(':') + 1));
      return;
    }
  }
}

const visitAttribute: Visit = (node, reading) => {
  reading.decorator(node);
};

export const RUST: Grammar = {
  wasm: 'tree-sitter-rust.wasm',
  visits: {
    function_item: visitFunction,
    function_signature_item: visitFunction,
    struct_item: visitStruct,
    union_item: visitStruct,
    field_declaration_list: visitBody,
    field_declaration: visitField,
    enum_item: visitEnum,
    enum_variant_list: visitBody,
    enum_variant: visitVariant,
    trait_item: visitTrait,
    impl_item: visitImplementation,
    mod_item: visitModule,
    const_item: visitConstant,
    static_item: visitConstant,
    type_item: visitType,
    associated_type: visitType,
    macro_definition: visitMacroDefinition,
    block: visitBlock,
    attribute_item: visitAttribute,
    use_declaration: visitUse,
    extern_crate_declaration: visitCrate,
    call_expression: visitCall,
    macro_invocation: visitMacro,
    token_tree: visitTokens,
    struct_expression: visitStructLiteral,
  },
};
