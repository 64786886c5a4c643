import type { ASTNode } from '@marcbachmann/cel-js';
import type { Json } from '../../lib/json.ts';
import { nearest, suggest } from '../../lib/nearest.ts';
import { type ConditionConditionIssue, positionOf } from '../issue.ts';
import type { ExpressionCode } from './limits.ts';
import { childrenOf, type NameUse, nameHint, readChain } from './names.ts';
import { type Expression, readTree } from './parse-expression.ts';
import { TYPE_NAMES } from './value.ts';

export interface KnownNames {
  /** The names that will be in the context. */
  readonly roots: Iterable<string>;
  /** For some roots, all the keys they will have: `metadata` → the declared fields. */
  readonly members?: ReadonlyMap<string, readonly string[]>;
}

/** The names in `expression` that its context will not have, each with the nearest one that it will. */
export function checkExpression(
  expression: Expression,
  known: KnownNames,
): readonly ConditionConditionIssue<ExpressionCode>[] {
  const roots = new Set(known.roots);
  const issues: ConditionConditionIssue<ExpressionCode>[] = [];
  for (const { root, path, offset } of expression.names) {
    const position = positionOf(expression.source, offset);
    const members = known.members?.get(root);
    const [member] = path;
    if (!roots.has(root)) {
      if (TYPE_NAMES.some((type) => type === root)) continue;
      issues.push({
        code: 'unknown_name',
        message: `Unknown name "${root}".`,
        hint: rootHint(root, roots, known.members),
        ...position,
      });
    } else if (members !== undefined && typeof member === 'string' && !members.includes(member)) {
      issues.push({
        code: 'unknown_name',
        message: `"${root}" has no "${member}".`,
        hint: suggest(member, members, `Known in ${root}`),
        ...position,
      });
    }
  }
  return issues;
}

/** A bare `status` is most often a field whose root was left out. */
function rootHint(root: string, roots: ReadonlySet<string>, members: KnownNames['members']): string {
  const owner = [...(members ?? [])].find(([, keys]) => keys.includes(root))?.[0];
  if (nearest(root, roots) === undefined && owner !== undefined) return `Did you mean "${owner}.${root}"?`;
  return nameHint(root, [...roots]);
}

/** A name that is compared with a value that stands in the expression: `metadata.status == "DONE"`. */
export interface Comparison {
  readonly name: NameUse;
  /** As if the name stood on the left. */
  readonly operator: '==' | '!=' | '<' | '<=' | '>' | '>=';
  readonly value: Json;
}

const TURNED = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/** The comparisons in an expression that can be read. What a macro binds is among the names, too. */
export const readComparisons = (source: string): readonly Comparison[] => under(readTree(source));

function under(node: ASTNode): Comparison[] {
  const below = childrenOf(node).flatMap(under);
  if (!Object.hasOwn(TURNED, node.op)) return below;
  const operator = node.op as Comparison['operator'];
  const [left, right] = node.args as [ASTNode, ASTNode];
  return [...compare(left, operator, right), ...compare(right, TURNED[operator], left), ...below];
}

function compare(named: ASTNode, operator: Comparison['operator'], other: ASTNode): readonly Comparison[] {
  const name = readChain(named);
  const value = literalOf(other);
  return name === undefined || value === undefined ? [] : [{ name, operator, value }];
}

function literalOf(node: ASTNode): Json | undefined {
  if (node.op === '-_') {
    const value = literalOf(node.args);
    return typeof value === 'number' ? -value : undefined;
  }
  if (node.op !== 'value') return undefined;
  const value: unknown = node.args;
  if (typeof value === 'bigint') return Number(value);
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
    ? (value as Json)
    : undefined;
}
