import type { Node } from 'web-tree-sitter';
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
import { MAX_PATTERN_DEPTH, MAX_RECEIVER, type Reading } from '../reading.ts';
import {
  classBody,
  declare,
  importCall,
  isFunction,
  modifiers,
  nameOf,
  visitAmbient,
  visitClass,
  visitClassExpression,
  visitEnum,
  visitExport,
  visitField,
  visitImport,
  visitInterface,
  visitNamespace,
  visitStatements,
  visitTypeAlias,
} from './declare.ts';

/** Variables of a function are no symbols; those of a module or a namespace are. */
const visitVariables: Visit = (node, reading) => {
  const { place } = reading.around;
  reading.enter(node, place === 'file' || place === 'namespace' ? 'wrapper' : 'block');
};

const visitVariable: Visit = (node, reading) => {
  if (reading.frame.place !== 'wrapper') return;
  const name = node.childForFieldName('name');
  if (name === null) return;
  const value = node.childForFieldName('value');
  const symbols = bound(name, 0).map((identifier) =>
    variable(reading, node, identifier, value, name === identifier),
  );
  reading.enter(node, 'head', { symbol: symbols[0], body: classBody(node) });
};

function variable(reading: Reading, node: Node, at: Node, value: Node | null, isWhole: boolean) {
  const { text, frame } = reading;
  const before = text.slice(frame.start, Math.min(node.startIndex, frame.start + 200));
  const keyword = /\b(?:const|let|var|using)\b/.exec(before)?.[0] ?? 'const';
  const isFirst = !/[,=]/.test(before);
  const isCalled = isWhole && value !== null && isFunction(value);
  const isClass = isWhole && value?.type === 'class';
  const signature =
    isCalled || isClass
      ? headLine(text, node.startIndex, value?.childForFieldName('body')?.startIndex ?? node.endIndex)
      : value === null
        ? oneLine(text, node.startIndex, node.endIndex)
        : withValue(text, node.startIndex, value.startIndex, node.endIndex);
  return reading.add({
    name: textOf(text, at),
    kind: isCalled ? 'function' : isClass ? 'class' : 'variable',
    at,
    node,
    signature: `${keyword} ${signature}`,
    doc: docBefore(text, isFirst ? frame.start : node.startIndex, '//'),
    exported: frame.exported || (reading.around.place === 'namespace' && reading.around.exported),
  });
}

/** The names that a pattern binds; those that its defaults use are not among them. */
function bound(pattern: Node, depth: number): readonly Node[] {
  if (pattern.type === 'identifier' || pattern.type === 'shorthand_property_identifier_pattern')
    return pattern.startIndex === pattern.endIndex ? [] : [pattern];
  if (depth > MAX_PATTERN_DEPTH) return [];
  if (pattern.type === 'pair_pattern') return boundBy(pattern.childForFieldName('value'), depth);
  if (pattern.type === 'object_assignment_pattern' || pattern.type === 'assignment_pattern')
    return boundBy(pattern.childForFieldName('left'), depth);
  return pattern.namedChildren.flatMap((child) => boundBy(child, depth));
}

const boundBy = (pattern: Node | null, depth: number) => (pattern === null ? [] : bound(pattern, depth + 1));

/** What older scripts declare by setting it: `exports.a = …`, `module.exports = …`, `A.prototype.b = function …`. */
const visitAssignment: Visit = (node, reading) => {
  if (reading.frame.place !== 'file') return;
  const left = node.childForFieldName('left');
  const right = node.childForFieldName('right');
  if (left?.type !== 'member_expression' || right === null || left.endIndex - left.startIndex > MAX_RECEIVER)
    return;
  const path = textOf(reading.text, left).replace(/\s/g, '').split('.');
  const name = path[path.length - 1]!;
  const owner = path.slice(0, -1).join('.');
  if (owner === 'module' && name === 'exports') exportWhole(node, left, right, reading);
  else if (owner === 'exports' || owner === 'module.exports') {
    if (right.type === 'identifier') reading.exportName(textOf(reading.text, right));
    else set(node, left, right, name, reading, true);
  } else if (isFunction(right) && /^[\w$]+(?:\.prototype)?$/.test(owner)) {
    const container = reading.find(owner.replace('.prototype', ''));
    if (container !== undefined) set(node, left, right, name, reading, 'as container', container);
  }
};

/** `const { a } = require('…')` declares nothing: it is an import. */
const visitScriptVariable: Visit = (node, reading) => {
  const value = node.childForFieldName('value');
  if (value === null || !/^require\s*\(/.test(reading.text.slice(value.startIndex, value.startIndex + 20)))
    visitVariable(node, reading);
};

function exportWhole(node: Node, left: Node, right: Node, reading: Reading): void {
  if (right.type === 'identifier') reading.exportName(textOf(reading.text, right));
  else if (isFunction(right) || right.type === 'class') {
    const own = right.childForFieldName('name');
    set(node, left, right, own === null ? 'default' : textOf(reading.text, own), reading, true);
  } else if (right.type === 'object')
    for (const part of right.namedChildren) {
      const value = part?.type === 'pair' ? part.childForFieldName('value') : part;
      if (value?.type === 'identifier' || value?.type === 'shorthand_property_identifier')
        reading.exportName(textOf(reading.text, value));
    }
}

function set(
  node: Node,
  left: Node,
  right: Node,
  name: string,
  reading: Reading,
  exported: boolean | 'as container',
  container?: number,
): void {
  const { text } = reading;
  const body = right.childForFieldName('body');
  const isClass = right.type === 'class';
  const hasHead = isClass || isFunction(right);
  const symbol = reading.add({
    name,
    kind: isClass ? 'class' : !hasHead ? 'variable' : container === undefined ? 'function' : 'method',
    at: left.childForFieldName('property') ?? left,
    node,
    signature: hasHead
      ? headLine(text, node.startIndex, body?.startIndex ?? node.endIndex)
      : withValue(text, node.startIndex, right.startIndex, node.endIndex),
    doc: docBefore(text, node.startIndex, '//'),
    exported,
    container,
  });
  reading.enter(node, 'head', { symbol, body: isClass ? body : null });
}

/** Functions that are declared, with a body or without. */
const visitFunction: Visit = (node, reading) => {
  reading.enter(node, 'head', { symbol: callable(node, reading, 'function') });
};

/** Methods of classes and interfaces; those of object literals are no symbols. */
const visitMethod: Visit = (node, reading) => {
  const isMember = reading.frame.place === 'members';
  const symbol = isMember ? callable(node, reading, 'method') : undefined;
  if (isMember && node.type === 'method_definition') parameterProperties(node, reading);
  reading.enter(node, 'head', { symbol });
};

/** Overloads are one symbol: the first says how it looks, the last where it ends. */
function callable(node: Node, reading: Reading, kind: 'function' | 'method'): number | undefined {
  const name = node.childForFieldName('name');
  const called = nameOf(reading.text, name);
  if (name === null || called === undefined) return undefined;
  const body = node.childForFieldName('body');
  const { overloads } = reading.around;
  // A getter, a setter and a static method are other symbols than a method of the same name.
  const key = [...(modifiers(reading, node, name).match(/\b(?:static|get|set)\b/g) ?? []), called].join(' ');
  const known = overloads.get(key);
  const signature = headLine(reading.text, node.startIndex, body?.startIndex ?? node.endIndex);
  const symbol = known ?? declare(reading, node, name, kind, signature);
  if (known !== undefined) reading.extend(known, node);
  if (body === null && symbol !== undefined) overloads.set(key, symbol);
  else overloads.delete(key);
  return symbol;
}

/** `constructor(private readonly store: Store)` declares a field. */
function parameterProperties(node: Node, reading: Reading): void {
  const parameters = node.childForFieldName('parameters');
  const name = node.childForFieldName('name');
  if (parameters === null || nameOf(reading.text, name) !== 'constructor') return;
  for (const parameter of parameters.namedChildren) {
    const pattern = parameter?.childForFieldName('pattern');
    if (!parameter || pattern?.type !== 'identifier') continue;
    const words = modifiers(reading, parameter, pattern);
    if (!/\b(?:public|private|protected|readonly|override)\b/.test(words)) continue;
    reading.add({
      name: textOf(reading.text, pattern),
      kind: 'field',
      at: pattern,
      node: parameter,
      signature: oneLine(reading.text, parameter.startIndex, parameter.endIndex),
      doc: docBefore(reading.text, parameter.startIndex, '//'),
      exported: /\bprivate\b/.test(words) ? false : 'as container',
    });
  }
}

const CALL_SIGNATURE = /\n[ \t]{1,200}(?=<[\w\s])/g;
/** A backslash or a backtick that is escaped. */
const ESCAPE = /\\[\\`]/g;
const VARIANCE =
  /((?:[<,]|\*\/)\s{0,100})(in\s{1,20}out|in|out)(?=\s{1,100}(?!(?:extends|as|satisfies|in|of|is|instanceof)\b)[A-Za-z_$])/g;

/** How far back the end of what comes before is looked for, over blanks and comments. */
const MAX_BLANKS = 1_000;
const MAX_COMMENT = 5_000;
const MAX_COMMENTS = 8;

/**
 * The same text, character by character in the same place, with three things written otherwise that the grammar of
 * TypeScript misreads and loses the rest of the file over: `<in out T>`; in an object's type, a generic call signature
 * on a new line without a `;` before it; an escaped backtick in a type that is a template.
 */
function mendTypescript(text: string): string {
  const plain = text
    .replace(ESCAPE, '__')
    .replace(VARIANCE, (_, before: string, words: string) => before + words.replace(/\S/g, ' '));
  const parts: string[] = [];
  let from = 0;
  for (const { index, 0: blanks } of plain.matchAll(CALL_SIGNATURE)) {
    if (!endsMember(plain, index)) continue;
    const last = index + blanks.length - 1;
    parts.push(plain.slice(from, last), ';');
    from = last + 1;
  }
  return parts.join('') + plain.slice(from);
}

/** Whether what comes before could be the end of a member: a name or a bracket, but no operator. */
function endsMember(text: string, at: number): boolean {
  let end = at;
  for (let comments = 0; comments <= MAX_COMMENTS; comments += 1) {
    const from = end;
    while (end > 0 && from - end < MAX_BLANKS && text.charCodeAt(end - 1) <= 32) end -= 1;
    const comment = commentStart(text, end);
    if (comment === undefined) break;
    end = comment;
  }
  const last = text.slice(Math.max(0, end - 2), end);
  return last !== '=>' && /[\w$)\]}'"`>]$/.test(last);
}

/** Where the comment begins that ends here. */
function commentStart(text: string, end: number): number | undefined {
  const least = Math.max(0, end - MAX_COMMENT);
  const window = text.slice(least, end);
  const lineStart = window.lastIndexOf('\n') + 1;
  if (/^[ \t]*\/\//.test(window.slice(lineStart))) return least + lineStart;
  const start = window.endsWith('*/') ? window.lastIndexOf('/*') : -1;
  return start === -1 ? undefined : least + start;
}

const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee === null) return;
  const isRequire = callee.type === 'identifier' && textOf(reading.text, callee) === 'require';
  if (callee.type === 'import' || isRequire) importCall(node, reading);
  else called(callee, reading);
};

const visitNew: Visit = (node, reading) => {
  const callee = node.childForFieldName('constructor');
  if (callee !== null) called(callee, reading);
};

/** `@name`; that of `@name()` is a call already. Decorators of methods stand before them in the tree. */
const visitDecorator: Visit = (node, reading) => {
  reading.decorator(node);
  const named = node.namedChildren.find(
    (child) => child?.type === 'identifier' || child?.type === 'member_expression',
  );
  if (named) called(named, reading);
};

/** Components are called, elements of the page (`div`) are not. */
const visitElement: Visit = (node, reading) => {
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

const SCRIPT: Readonly<Record<string, Visit>> = {
  function_declaration: visitFunction,
  generator_function_declaration: visitFunction,
  method_definition: visitMethod,
  class_declaration: visitClass,
  class: visitClassExpression,
  class_body: visitBody,
  field_definition: visitField,
  statement_block: visitStatements,
  for_statement: visitBlock,
  switch_body: visitBlock,
  lexical_declaration: visitVariables,
  variable_declaration: visitVariables,
  variable_declarator: visitVariable,
  import_statement: visitImport,
  export_statement: visitExport,
  call_expression: visitCall,
  new_expression: visitNew,
  decorator: visitDecorator,
};

const ELEMENTS: Readonly<Record<string, Visit>> = {
  jsx_opening_element: visitElement,
  jsx_self_closing_element: visitElement,
};

const TYPED: Readonly<Record<string, Visit>> = {
  ...SCRIPT,
  function_signature: visitFunction,
  method_signature: visitMethod,
  abstract_method_signature: visitMethod,
  abstract_class_declaration: visitClass,
  public_field_definition: visitField,
  property_signature: visitField,
  interface_declaration: visitInterface,
  interface_body: visitBody,
  object_type: visitBody,
  type_alias_declaration: visitTypeAlias,
  enum_declaration: visitEnum,
  internal_module: visitNamespace,
  module: visitNamespace,
  ambient_declaration: visitAmbient,
};

export const TYPESCRIPT: Grammar = {
  wasm: 'tree-sitter-typescript.wasm',
  visits: TYPED,
  mend: mendTypescript,
};
export const TSX: Grammar = { wasm: 'tree-sitter-tsx.wasm', visits: { ...TYPED, ...ELEMENTS } };
export const JAVASCRIPT: Grammar = {
  wasm: 'tree-sitter-javascript.wasm',
  visits: {
    ...SCRIPT,
    ...ELEMENTS,
    assignment_expression: visitAssignment,
    variable_declarator: visitScriptVariable,
  },
};
