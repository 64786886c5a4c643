import { checkExpression, type KnownNames } from '../../../conditions/cel/check-expression.ts';
import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import type { Issue } from '../../issue.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** The names that the CEL at `place` uses and that will not be there; nothing if it cannot be read at all. */
export function checkNames(place: DocumentNode, known: KnownNames): readonly Issue[] {
  const source = place.text();
  if (source === undefined) return [];
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  return checkExpression(parsed.value, known).map(({ message, hint, offset }) =>
    errorAt(place, 'unknown_name', message, { hint, offset }),
  );
}

/** The context variables that a CEL expression reads: bare names, and `vars.NAME`. */
export function variablesRead(source: string): readonly string[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  return parsed.value.names.flatMap(({ root, path: [member] }) =>
    root === 'vars' ? (typeof member === 'string' ? [member] : []) : [root],
  );
}

/** The variables that a text refers to: `$name`, `${vars.name}`. */
export function variablesMentioned(text: string): readonly string[] {
  return [...text.matchAll(/(?<!\$)\$(?:\{\s*(?:vars\.)?([A-Za-z_]\w*)|([A-Za-z_]\w*))/g)].map(
    ([, inBraces, bare]) => inBraces ?? bare ?? '',
  );
}
