import type { Node } from 'web-tree-sitter';
import type { Visit } from '../grammar.ts';
import type { Reading } from '../reading.ts';
import { receiverOf } from '../receiver-of.ts';
import { textOf } from '../text-of.ts';

export const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee !== null) called(callee, reading);
};

/** By its name without the `!`, as it is defined. */
export const visitMacro: Visit = (node, reading) => {
  const macro = node.childForFieldName('macro');
  if (macro !== null) called(macro, reading);
};

/** What is handed to a macro is not parsed: `println!("{}", price(1))` has a name and something in brackets behind it. */
export const visitTokens: Visit = (node, reading) => {
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

export const visitStructLiteral: Visit = (node, reading) => {
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
