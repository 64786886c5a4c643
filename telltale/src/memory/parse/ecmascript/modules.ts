import type { Node } from 'web-tree-sitter';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { headLine, withValue } from '../signature.ts';
import { textOf } from '../text-of.ts';
import { isFunction } from './declare.ts';

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
