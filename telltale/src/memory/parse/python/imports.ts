import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { textOf } from '../text-of.ts';

const lineOf = (node: Node) => node.startPosition.row + 1;
const compact = (text: string, node: Node) => textOf(text, node).replace(/\s+/g, '');

/** `import a.b as c, d`: each is an import of all of it. */
export const visitImport: Visit = (node, reading) => {
  for (const part of node.childrenForFieldName('name')) {
    const name = part?.type === 'aliased_import' ? part.childForFieldName('name') : part;
    if (name) reading.import({ specifier: compact(reading.text, name), line: lineOf(node), names: ['*'] });
  }
};

/** `from ..pkg import a as b, c`; `from . import module`. */
export const visitFromImport: Visit = (node, reading) => {
  const from = node.childForFieldName('module_name');
  if (from === null) return;
  const isAll = node.namedChildren.some((child) => child?.type === 'wildcard_import');
  const names = isAll ? ['*'] : importedNames(node, reading);
  reading.import({ specifier: compact(reading.text, from), line: lineOf(node), names });
};

export const visitFutureImport: Visit = (node, reading) => {
  reading.import({ specifier: '__future__', line: lineOf(node), names: importedNames(node, reading) });
};

function importedNames(node: Node, reading: Reading): readonly string[] {
  return node.childrenForFieldName('name').flatMap((part) => {
    const name = part?.type === 'aliased_import' ? part.childForFieldName('name') : part;
    const alias = part?.childForFieldName('alias');
    if (!name) return [];
    const called = compact(reading.text, name);
    if (alias) reading.alias(textOf(reading.text, alias), called);
    return [called];
  });
}
