import type { Node } from 'web-tree-sitter';
import { docBefore } from '../doc-comment.ts';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { headLine, oneLine } from '../signature.ts';
import { textOf } from '../text-of.ts';
import { declare, modifiers, nameOf } from './declare.ts';

/** Functions that are declared, with a body or without. */
export const visitFunction: Visit = (node, reading) => {
  reading.enter(node, 'head', { symbol: callable(node, reading, 'function') });
};

/** Methods of classes and interfaces; those of object literals are no symbols. */
export const visitMethod: Visit = (node, reading) => {
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
