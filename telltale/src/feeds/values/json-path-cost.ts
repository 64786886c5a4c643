import { type JSONPathQuery, jsonpath } from 'json-p3';
import type { RuntimeError } from '../../kernel/runtime-error.ts';

const MAX_SEGMENTS = 16;
/** How often a value may be looked at in one step: `[*, *]` looks at each twice, and the next step likewise. */
const MAX_WIDTH = 4;
const MAX_FILTER_DEPTH = 4;

type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

interface Cost {
  readonly refuse: (why: string) => RuntimeError;
  descents: number;
  width: number;
}

/**
 * Refuses a path whose search is more than linear in the value: `..` twice, a search of the whole value in each filter,
 * the same values over and over. The library itself would search for hours.
 */
export function checkCost(query: JSONPathQuery, refuse: (why: string) => RuntimeError): void {
  checkQuery(query, { refuse, descents: 0, width: 1 }, 0);
}

function checkQuery({ segments }: JSONPathQuery, cost: Cost, depth: number): void {
  if (depth > MAX_FILTER_DEPTH) throw cost.refuse(`has filters nested deeper than ${MAX_FILTER_DEPTH}`);
  if (segments.length > MAX_SEGMENTS) throw cost.refuse(`has more than ${MAX_SEGMENTS} steps`);
  for (const segment of segments) {
    const descends = segment.toString().startsWith('..');
    if (descends && depth > 0) throw cost.refuse('has ".." inside a filter');
    if (descends && ++cost.descents > 1) throw cost.refuse('has ".." more than once');
    const wide = segment.selectors.filter((selector) => !isSingle(selector)).length;
    cost.width *= Math.max(1, wide);
    if (cost.width > MAX_WIDTH || segment.selectors.length > MAX_SEGMENTS)
      throw cost.refuse('leads to the same values over and over');
    for (const selector of segment.selectors)
      if (selector instanceof jsonpath.selectors.FilterSelector)
        checkFilter(selector.expression, cost, depth);
  }
}

const isSingle = (selector: unknown): boolean =>
  selector instanceof jsonpath.selectors.NameSelector || selector instanceof jsonpath.selectors.IndexSelector;

function checkFilter(expression: Expression, cost: Cost, depth: number): void {
  const { expressions } = jsonpath;
  if (expression instanceof expressions.LogicalExpression) checkFilter(expression.expression, cost, depth);
  else if (expression instanceof expressions.PrefixExpression) checkFilter(expression.right, cost, depth);
  else if (expression instanceof expressions.InfixExpression) {
    const { left, right, logical } = expression;
    // Two parts of the whole value would be compared anew for each value that is filtered.
    if (!logical && isRoot(left) && isRoot(right)) throw cost.refuse('compares nothing of what it filters');
    for (const side of [left, right]) if (logical || !isSingularRoot(side)) checkFilter(side, cost, depth);
  } else if (expression instanceof expressions.FunctionExtension) {
    const isPattern = expression.name === 'match' || expression.name === 'search';
    for (const argument of expression.args)
      if (!isPattern || !isSingularRoot(argument)) checkFilter(argument, cost, depth);
  } else if (isRoot(expression)) throw cost.refuse('searches the whole value in a filter');
  else if (expression instanceof expressions.RelativeQuery && !expression.path.singularQuery())
    checkQuery(expression.path, cost, depth + 1);
}

const isRoot = (expression: Expression): expression is InstanceType<typeof jsonpath.expressions.RootQuery> =>
  expression instanceof jsonpath.expressions.RootQuery;

const isSingularRoot = (expression: Expression): boolean =>
  isRoot(expression) && expression.path.singularQuery();
