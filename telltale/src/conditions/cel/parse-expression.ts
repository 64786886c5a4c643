import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';
import { err, ok, type Result } from '../../kernel/result.ts';
import { type Issue, positionOf } from '../issue.ts';
import { compile } from './compile.ts';
import type { Run } from './frame.ts';
import { MAX_ARGUMENTS, MAX_DEPTH, MAX_EXPRESSION_LENGTH, MAX_LITERAL_ITEMS, MAX_NODES } from './limits.ts';
import { type NameUse, readNames } from './names.ts';
import { type ExpressionCode, Refusal } from './refusal.ts';
import { syntaxError } from './syntax-error.ts';

/** A CEL expression that was read, checked and made ready to run any number of times. */
export interface Expression {
  readonly source: string;
  /** What it reads from its context, in the order in which it stands there. */
  readonly names: readonly NameUse[];
  /** @internal */
  readonly run: Run;
}

const parser = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: MAX_NODES,
    maxDepth: MAX_DEPTH,
    maxListElements: MAX_LITERAL_ITEMS,
    maxMapEntries: MAX_LITERAL_ITEMS,
    maxCallArguments: MAX_ARGUMENTS,
  },
});

/** Reads a CEL expression. Syntax, functions, their arguments and literal patterns are checked here, names are not. */
export function parseExpression(source: string): Result<Expression, Issue<ExpressionCode>> {
  if (source.length > MAX_EXPRESSION_LENGTH) return err(tooLong(source));
  try {
    const tree = readTree(source);
    const run = compile(tree, { slots: new Map(), taken: 0, nesting: 0, compile });
    return ok({ source, names: readNames(tree), run });
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    return err({ ...thrown.issue, ...positionOf(source, thrown.issue.offset ?? 0) });
  }
}

/** Throws a `Refusal` where it cannot be read. */
export function readTree(source: string): ASTNode {
  try {
    return parser.parse(source).ast;
  } catch (thrown) {
    throw thrown instanceof ParseError ? syntaxError(thrown, source) : thrown;
  }
}

const tooLong = (source: string): Issue<ExpressionCode> => ({
  code: 'too_long',
  message: `The expression has ${source.length} characters; ${MAX_EXPRESSION_LENGTH} are allowed.`,
  hint: 'Compute a part beforehand, in a variable or a step.',
  ...positionOf(source, MAX_EXPRESSION_LENGTH),
});
