import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import { docBefore, headLine, oneLine, textOf, type Visit, withValue } from '../grammar.ts';
import type { Reading } from '../reading.ts';

/** What a string literal says; undefined for a template with holes. */
function literal(reading: Reading, node: Node | null | undefined): string | undefined {
  const isText = node?.type === 'string' || node?.type === 'template_string';
  if (!node || !isText || node.namedChildren.some((child) => child?.type === 'template_substitution'))
    return undefined;
  return textOf(reading.text, node).slice(1, -1);
}

export const visitImport: Visit = (node, reading) => {
  const required = node.namedChildren.find((child) => child?.type === 'import_require_clause');
  const specifier = literal(reading, (required ?? node).childForFieldName('source'));
  if (specifier === undefined) return;
  const line = node.startPosition.row + 1;
  const names = required
    ? ['*']
    : node.namedChildren.flatMap((child) => (child ? imported(reading, child) : []));
  reading.import({ specifier, line, names });
};

function imported(reading: Reading, node: Node): readonly string[] {
  switch (node.type) {
    case 'import_clause':
      return node.namedChildren.flatMap((child) =>
        child === null ? [] : child.type === 'identifier' ? ['default'] : imported(reading, child),
      );
    case 'namespace_import':
      return ['*'];
    case 'named_imports':
      for (const child of node.namedChildren) noteAlias(reading, child);
      return specifiers(node).map((name) => nameIn(reading, name));
    case 'export_clause':
      return specifiers(node).map((name) => nameIn(reading, name));
    default:
      return [];
  }
}

function noteAlias(reading: Reading, specifier: Node | null): void {
  const alias = specifier?.childForFieldName('alias');
  const name = specifier?.childForFieldName('name');
  if (alias && name && nameIn(reading, name) !== 'default')
    reading.alias(textOf(reading.text, alias), nameIn(reading, name));
}

const specifiers = (clause: Node): readonly Node[] =>
  clause.namedChildren.flatMap((child) => child?.childForFieldName('name') ?? []);

const nameIn = (reading: Reading, name: Node) =>
  name.type === 'string' ? textOf(reading.text, name).slice(1, -1) : textOf(reading.text, name);

export const visitExport: Visit = (node, reading) => {
  const source = node.childForFieldName('source');
  const clause = node.namedChildren.find((child) => child?.type === 'export_clause');
  if (source !== null) {
    const specifier = literal(reading, source);
    if (specifier === undefined) return;
    const names = clause ? imported(reading, clause) : ['*'];
    reading.import({ specifier, line: node.startPosition.row + 1, names, reexport: true });
    return;
  }
  for (const name of clause ? specifiers(clause) : []) reading.exportName(nameIn(reading, name));
  // `export = name` has it as a child without a field.
  const value =
    node.childForFieldName('value') ??
    node.namedChildren.find((child) => child?.type === 'identifier') ??
    null;
  const isDefault = /^export\s+default\b/.test(reading.text.slice(node.startIndex, node.startIndex + 100));
  reading.enter(node, 'wrapper', { exported: true });
  if (value?.type === 'identifier') reading.exportName(textOf(reading.text, value));
  else if (value !== null && (isDefault || node.childForFieldName('decorator') !== null))
    exportDefault(node, value, reading);
};

/** What is exported without a name is called `default`. */
function exportDefault(node: Node, value: Node, reading: Reading): void {
  const { text } = reading;
  const body = value.childForFieldName('body');
  const isClass = value.type === 'class';
  const name = value.childForFieldName('name');
  const signature =
    isClass || isFunction(value)
      ? headLine(text, value.startIndex, body?.startIndex ?? value.endIndex)
      : withValue(text, node.startIndex, value.startIndex, node.endIndex).replace(/^export /, '');
  const symbol = reading.add({
    name: name !== null && (isClass || isFunction(value)) ? textOf(reading.text, name) : 'default',
    kind: isClass ? 'class' : isFunction(value) ? 'function' : 'variable',
    at: name ?? node,
    node,
    signature,
    doc: docBefore(text, node.startIndex, '//'),
    exported: true,
  });
  reading.enter(node, 'head', { symbol, body: isClass ? body : null });
}

const MAX_LOOK = 300;

/** Bundlers are told things by a comment before it. */
const firstArgument = (call: Node) =>
  call.childForFieldName('arguments')?.namedChildren.find((child) => child?.type !== 'comment');

/** `import('…')` and `require('…')`, with the names that are taken from them at once. */
export function importCall(node: Node, reading: Reading): void {
  const specifier = literal(reading, firstArgument(node));
  if (specifier === undefined) return;
  const { text } = reading;
  const before = text.slice(Math.max(0, node.startIndex - MAX_LOOK), node.startIndex);
  const after = text.slice(node.endIndex, node.endIndex + MAX_LOOK);
  const pattern = /\{([^{}]*)\}\s*=\s*(?:await\s+)?\(?$/.exec(before)?.[1];
  const member = /^\s*\)?\s*\.\s*([\w$]+)/.exec(after)?.[1];
  const taken = pattern
    ?.split(',')
    .map((part) => /^\s*([\w$]+)(?:\s*:\s*([\w$]+))?/.exec(part))
    .filter((part) => part !== null);
  for (const part of taken ?? []) if (part[2] !== undefined) reading.alias(part[2], part[1]!);
  const isPromise = member === 'then' || member === 'catch' || member === 'finally';
  const names = taken?.map((part) => part[1]!) ?? (member === undefined || isPromise ? ['*'] : [member]);
  reading.import({ specifier, line: node.startPosition.row + 1, names });
}

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

/** The name that a declaration gives, without quotes; undefined where a mistake in the source left none. */
export function nameOf(text: string, name: Node | null): string | undefined {
  if (name === null) return undefined;
  const written = textOf(text, name).replace(/\s+/g, ' ');
  const bare = name.type === 'string' ? written.slice(1, -1) : written;
  return bare === '' ? undefined : bare;
}

/** The comment stands before `export` and before decorators. */
function docOf(reading: Reading, node: Node): string | undefined {
  const { frame } = reading;
  const start = frame.place === 'wrapper' ? frame.start : reading.decoratedStart(node);
  return docBefore(reading.text, start, '//');
}

/** Where a declaration begins behind its decorators. */
function startOf(node: Node, text: string): number {
  if (text[node.startIndex] !== '@') return node.startIndex;
  return node.children.find((child) => child?.type !== 'decorator')?.startIndex ?? node.startIndex;
}

/** What stands in classes and interfaces is seen as far as they are, unless it is private. */
function visibility(reading: Reading, node: Node, name: Node): boolean | 'as container' {
  const { frame, around } = reading;
  if (around.place !== 'members')
    return (frame.place === 'wrapper' && frame.exported) || (around.place === 'namespace' && around.exported);
  const hidden =
    name.type === 'private_property_identifier' || /\bprivate\b/.test(modifiers(reading, node, name));
  return hidden ? false : 'as container';
}

export const modifiers = (reading: Reading, node: Node, name: Node): string =>
  reading.text.slice(Math.max(node.startIndex, name.startIndex - 200), name.startIndex);

export const isFunction = ({ type }: Node): boolean =>
  type === 'arrow_function' || type === 'function_expression' || type === 'generator_function';

/** Adds a symbol for a declaration that has a name. */
export function declare(
  reading: Reading,
  node: Node,
  name: Node | null,
  kind: SymbolKind,
  signature: string,
): number | undefined {
  const called = nameOf(reading.text, name);
  if (name === null || called === undefined) return undefined;
  return reading.add({
    name: called,
    kind,
    at: name,
    node,
    signature,
    doc: docOf(reading, node),
    exported: visibility(reading, node, name),
  });
}
