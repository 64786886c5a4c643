import type { Node } from 'web-tree-sitter';
import type { SymbolKind } from '../../../store/graph.ts';
import { docBefore, firstSentence, headLine, oneLine, textOf, type Visit, withValue } from '../grammar.ts';
import { MAX_PATTERN_DEPTH, type Reading, type ReadingFrame } from '../reading.ts';

/** Names are public unless they begin with `_`; those of the language itself (`__init__`) are public, too. */
const isPublic = (name: string) => !name.startsWith('_') || /^__\w+__$/.test(name);

const visibility = (reading: Reading, name: string): boolean | 'as container' => {
  const { place } = reading.around;
  if (!isPublic(name) || place === 'block') return false;
  return place === 'members' ? 'as container' : true;
};

export const visitDecorated: Visit = (node, reading) => {
  reading.enter(node, 'wrapper');
};

export const visitClass: Visit = (node, reading) => {
  reading.enter(node, 'members', { symbol: define(node, reading, 'class') });
};

/** Only functions and classes have names of their own: what stands in an `if` of a module is the module's. */
export const visitFunction: Visit = (node, reading) => {
  const members = reading.around.place === 'members' ? reading.around : undefined;
  const name = node.childForFieldName('name');
  const isMaker = members !== undefined && name !== null && textOf(reading.text, name) === '__init__';
  const symbol = define(node, reading, members ? 'method' : 'function');
  reading.enter(node, 'block', { symbol, owner: isMaker ? members : undefined });
};

function define(node: Node, reading: Reading, kind: SymbolKind): number | undefined {
  const { text, frame, around } = reading;
  const name = node.childForFieldName('name');
  const body = node.childForFieldName('body');
  if (name === null || name.startIndex === name.endIndex) return undefined;
  const called = textOf(text, name);
  const start = frame.place === 'wrapper' ? frame.start : node.startIndex;
  const known = around.overloads.get(called);
  const isOverload = /@(?:\w+\.)?overload\b/.test(text.slice(start, node.startIndex));
  if (known !== undefined) reading.extend(known, node);
  const symbol =
    known ??
    reading.add({
      name: called,
      kind,
      at: name,
      node,
      signature: headLine(text, node.startIndex, body?.startIndex ?? node.endIndex).replace(
        /\s*:(?:\s*#.*)?$/,
        '',
      ),
      doc: docstring(body, text) ?? docBefore(text, start, '#'),
      exported: visibility(reading, called),
    });
  if (isOverload && symbol !== undefined) around.overloads.set(called, symbol);
  else around.overloads.delete(called);
  return symbol;
}

function docstring(body: Node | null, text: string): string | undefined {
  const first = body?.firstNamedChild;
  const string = first?.type === 'expression_statement' ? first.firstNamedChild : null;
  if (string?.type !== 'string' && string?.type !== 'concatenated_string') return undefined;
  const written = textOf(text, string).slice(0, 4_000);
  const bare = written.replace(/^[A-Za-z]*("""|'''|"|')/, '').replace(/("""|'''|"|')$/, '');
  return firstSentence(bare.split('\n').map((line) => line.trim()));
}

/** A name is declared where it is first set. */
export const visitAssignment: Visit = (node, reading) => {
  const left = node.childForFieldName('left');
  const { around, text } = reading;
  if (left === null) return;
  if (around.place === 'file' || around.place === 'members')
    for (const name of targets(left, 0)) assign(node, name, reading, around);
  else if (around.owner && left.type === 'attribute') {
    const object = left.childForFieldName('object');
    const name = left.childForFieldName('attribute');
    if (object && name && textOf(text, object) === 'self') assign(node, name, reading, around.owner);
  }
};

function assign(node: Node, name: Node, reading: Reading, home: ReadingFrame): void {
  const { text } = reading;
  const called = textOf(text, name);
  const key = `= ${called}`;
  const right = node.childForFieldName('right');
  if (called === '__all__' && right) exportAll(reading, right);
  if (called === '' || home.overloads.has(key)) return;
  const isField = home.place === 'members';
  const symbol = reading.add({
    name: called,
    kind: isField ? 'field' : right?.type === 'lambda' ? 'function' : 'variable',
    at: name,
    node,
    signature: right
      ? withValue(text, node.startIndex, right.startIndex, node.endIndex)
      : oneLine(text, node.startIndex, node.endIndex),
    doc: docBefore(text, node.startIndex, '#'),
    exported: isPublic(called) && (isField ? 'as container' : true),
    container: home.symbol,
  });
  if (symbol !== undefined) home.overloads.set(key, symbol);
}

function exportAll(reading: Reading, list: Node): void {
  for (const match of textOf(reading.text, list)
    .slice(0, 100_000)
    .matchAll(/["']([^"']+)["']/g))
    reading.exportName(match[1]!);
}

function targets(left: Node, depth: number): readonly Node[] {
  if (left.type === 'identifier') return [left];
  if (!/^(?:pattern_list|tuple_pattern|list_pattern|list_splat_pattern)$/.test(left.type)) return [];
  if (depth > MAX_PATTERN_DEPTH) return [];
  return left.namedChildren.flatMap((child) => (child === null ? [] : targets(child, depth + 1)));
}

export const visitTypeAlias: Visit = (node, reading) => {
  const { text, around } = reading;
  const left = node.childForFieldName('left');
  const name = left === null ? undefined : /^\w+/.exec(textOf(text, left))?.[0];
  if (left === null || name === undefined || around.place === 'block') return;
  const signature = oneLine(text, node.startIndex, node.endIndex);
  const doc = docBefore(text, node.startIndex, '#');
  reading.add({ name, kind: 'type', at: left, node, signature, doc, exported: visibility(reading, name) });
};
