import type { JSONPathQuery, jsonpath } from 'json-p3';
import { compilePattern } from '../../conditions/linear-regex.ts';
import { jsonP3 } from './json-p3.ts';
import { PATTERN_FUNCTIONS } from './json-path-environment.ts';
import type { JsonPathRefusal } from './json-path-issue.ts';

const MAX_SEGMENTS = 16;
/** How often a value may be looked at in one step: `[*, *]` looks at each twice, and the next step likewise. */
const MAX_WIDTH = 4;
const MAX_FILTER_DEPTH = 4;

type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

type FunctionCall = InstanceType<typeof jsonpath.expressions.FunctionExtension>;

type Refuse = (why: string, offset: number, hint?: string) => JsonPathRefusal;

interface Cost {
  readonly refuse: Refuse;
  descents: number;
  width: number;
}

/**
 * Refuses a path whose search is more than linear in the value: `..` twice, a search of the whole value in each filter,
 * the same values over and over. The library itself would search for hours. Patterns that are written out are read.
 */
export function checkCost(query: JSONPathQuery, refuse: Refuse): void {
  checkQuery(query, { refuse, descents: 0, width: 1 }, 0);
}

function checkQuery({ segments }: JSONPathQuery, cost: Cost, depth: number): void {
  const first = segments[0]?.token.index ?? 0;
  if (depth > MAX_FILTER_DEPTH)
    throw cost.refuse(`has filters nested deeper than ${MAX_FILTER_DEPTH}`, first);
  const tooMany = segments[MAX_SEGMENTS];
  if (tooMany !== undefined) throw cost.refuse(`has more than ${MAX_SEGMENTS} steps`, tooMany.token.index);
  const { FilterSelector } = jsonP3().jsonpath.selectors;
  for (const segment of segments) {
    const { index } = segment.token;
    const descends = segment.toString().startsWith('..');
    if (descends && depth > 0) throw cost.refuse('has ".." inside a filter', index);
    if (descends && ++cost.descents > 1) throw cost.refuse('has ".." more than once', index);
    const wide = segment.selectors.filter((selector) => !isSingle(selector)).length;
    cost.width *= Math.max(1, wide);
    if (cost.width > MAX_WIDTH || segment.selectors.length > MAX_SEGMENTS)
      throw cost.refuse('selects the same values again and again', index);
    for (const selector of segment.selectors)
      if (selector instanceof FilterSelector) checkFilter(selector.expression, cost, depth);
  }
}

function isSingle(selector: unknown): boolean {
  const { NameSelector, IndexSelector } = jsonP3().jsonpath.selectors;
  return selector instanceof NameSelector || selector instanceof IndexSelector;
}

function checkFilter(expression: Expression, cost: Cost, depth: number): void {
  const { expressions } = jsonP3().jsonpath;
  const { index } = expression.token;
  if (expression instanceof expressions.LogicalExpression) checkFilter(expression.expression, cost, depth);
  else if (expression instanceof expressions.PrefixExpression) checkFilter(expression.right, cost, depth);
  else if (expression instanceof expressions.InfixExpression) {
    const { left, right, logical } = expression;
    // Two parts of the whole value would be compared anew for each value that is filtered.
    if (!logical && isRoot(left) && isRoot(right))
      throw cost.refuse('has a filter that does not use the value it filters (@)', index);
    for (const side of [left, right]) if (logical || !isSingularRoot(side)) checkFilter(side, cost, depth);
  } else if (expression instanceof expressions.FunctionExtension) {
    const isPattern = PATTERN_FUNCTIONS.has(expression.name);
    checkPattern(expression, cost);
    for (const argument of expression.args)
      if (!isPattern || !isSingularRoot(argument)) checkFilter(argument, cost, depth);
  } else if (isRoot(expression)) throw cost.refuse('searches the whole value inside a filter', index);
  else if (expression instanceof expressions.RelativeQuery && !expression.path.singularQuery())
    checkQuery(expression.path, cost, depth + 1);
}

/** One that stands in the value itself is read when the path is run. */
function checkPattern({ name, args }: FunctionCall, { refuse }: Cost): void {
  const sourceOf = PATTERN_FUNCTIONS.get(name);
  const pattern = args[1];
  if (sourceOf === undefined || !(pattern instanceof jsonP3().jsonpath.expressions.StringLiteral)) return;
  const compiled = compilePattern(sourceOf(pattern.value));
  if (!compiled.ok)
    throw refuse(
      `has a pattern that cannot be used: ${lowerFirst(compiled.error.message)}`,
      pattern.token.index,
      compiled.error.hint,
    );
}

const isRoot = (expression: Expression): expression is InstanceType<typeof jsonpath.expressions.RootQuery> =>
  expression instanceof jsonP3().jsonpath.expressions.RootQuery;

const isSingularRoot = (expression: Expression): boolean =>
  isRoot(expression) && expression.path.singularQuery();

const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1).replace(/\.$/, '')}`;
