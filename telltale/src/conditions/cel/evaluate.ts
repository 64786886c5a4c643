import type { Json } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { type Issue, positionOf } from '../issue.ts';
import { createBudget } from './budget.ts';
import type { Frame } from './frame.ts';
import type { Expression } from './parse-expression.ts';
import { type EvaluationCode, Stop } from './stop.ts';
import { toJson } from './to-json.ts';
import { label, type Value } from './value.ts';

/** The names an expression can read: JSON values, used where they stand and never copied or changed. */
export type ExpressionContext = Readonly<Record<string, unknown>>;

/** The value of `expression` in `context`. Never throws; work and memory are bounded by MAX_COST. */
export function evaluate(
  expression: Expression,
  context: ExpressionContext,
): Result<Json, Issue<EvaluationCode>> {
  return run(expression, context, toResult);
}

/** As `evaluate`, for a place where true or false is needed: nothing else counts as either. */
export function evaluateTest(
  expression: Expression,
  context: ExpressionContext,
): Result<boolean, Issue<EvaluationCode>> {
  return run(expression, context, toTest);
}

const toResult = (value: Value, frame: Frame): Json => toJson(value, frame.budget);

function toTest(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  throw new Stop(
    'not_a_test',
    `The expression gave ${label(value)}, not true or false.`,
    'Compare it: x == "…", x > 0, has(x.y).',
  );
}

function run<T>(
  expression: Expression,
  context: ExpressionContext,
  finish: (value: Value, frame: Frame) => T,
): Result<T, Issue<EvaluationCode>> {
  const frame: Frame = { context, locals: [], budget: createBudget(), at: 0 };
  try {
    return ok(finish(expression.run(frame), frame));
  } catch (thrown) {
    const stop = thrown instanceof Stop ? thrown : foreign(thrown);
    stop.offset ??= frame.at;
    return err(stop.toIssue((offset) => positionOf(expression.source, offset)));
  }
}

/** A getter of the context that throws is the context's fault, but still no reason to end a session. */
const foreign = (thrown: unknown): Stop =>
  new Stop(
    'evaluation_failed',
    `Reading the context failed: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
  );
