import type { ASTNode } from '@marcbachmann/cel-js';
import type { Json } from '../../kernel/json.ts';
import { childrenOf, type NameUse, readChain } from './names.ts';
import { readTree } from './parse-expression.ts';

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
