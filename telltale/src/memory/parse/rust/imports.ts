import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import { MAX_PATTERN_DEPTH, MAX_SPECIFIER } from '../limits.ts';
import type { Reading } from '../reading.ts';
import { textOf } from '../text-of.ts';

/** Each leaf of a tree is an import by its whole path: `use a::{b, c::*}` is `a::b` and all of `a::c`. */
export const visitUse: Visit = (node, reading) => {
  const tree = node.childForFieldName('argument');
  const isPublic = /^pub\b/.test(reading.text.slice(node.startIndex, node.startIndex + 4));
  if (tree !== null) leaves(tree, '', node.startPosition.row + 1, isPublic, reading, 0);
};

export const visitCrate: Visit = (node, reading) => {
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
