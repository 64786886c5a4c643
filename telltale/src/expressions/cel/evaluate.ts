import { err, ok, type Result } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { type ConditionConditionIssue, positionOf } from '../issue.ts';
import { isPlainObject } from '../values.ts';
import type { CelFrame } from './frame.ts';
import { type Budget, createBudget, type EvaluationCode, LimitsStop, MAX_VALUE_DEPTH } from './limits.ts';
import { tooDeep } from './operators.ts';
import { type Expression, parseExpression } from './parse-expression.ts';
import { durationText, timestampText } from './time.ts';
import { Duration, label, MadeList, MadeMap, Timestamp, TypeValue, type Value } from './value.ts';

/** What a test came to. One with a problem did not hold, and nobody knows whether its opposite does. */
export interface EvaluateDecision {
  readonly held: boolean;
  /** Why it could not be read or evaluated, and what to write instead. */
  readonly problem?: string;
}

/** Reads and evaluates a test that a model wrote. `context` is asked only where it can be read. */
export function decideTest(
  source: string,
  context: (test: Expression) => ExpressionContext,
): EvaluateDecision {
  const parsed = parseExpression(source);
  const held = parsed.ok ? evaluateTest(parsed.value, context(parsed.value)) : parsed;
  if (held.ok) return { held: held.value };
  const { message, hint } = held.error;
  return { held: false, problem: hint === undefined ? message : `${message} ${hint}` };
}

/** The names an expression can read: JSON values, used where they stand and never copied or changed. */
export type ExpressionContext = Readonly<Record<string, unknown>>;

/** The value of `expression` in `context`. Never throws; work and memory are bounded by MAX_COST. */
export function evaluate(
  expression: Expression,
  context: ExpressionContext,
): Result<Json, ConditionConditionIssue<EvaluationCode>> {
  return run(expression, context, toResult);
}

/** As `evaluate`, for a place where true or false is needed: nothing else counts as either. */
export function evaluateTest(
  expression: Expression,
  context: ExpressionContext,
): Result<boolean, ConditionConditionIssue<EvaluationCode>> {
  return run(expression, context, toTest);
}

const toResult = (value: Value, frame: CelFrame): Json => toJson(value, frame.budget);

function toTest(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  throw new LimitsStop(
    'not_a_test',
    `The expression gave ${label(value)}, not true or false.`,
    'Compare it: x == "…", x > 0, has(x.y).',
  );
}

function run<T>(
  expression: Expression,
  context: ExpressionContext,
  finish: (value: Value, frame: CelFrame) => T,
): Result<T, ConditionConditionIssue<EvaluationCode>> {
  const frame: CelFrame = { context, locals: [], budget: createBudget(), at: 0 };
  try {
    return ok(finish(expression.run(frame), frame));
  } catch (thrown) {
    const stop = thrown instanceof LimitsStop ? thrown : foreign(thrown);
    stop.offset ??= frame.at;
    return err(stop.toIssue((offset) => positionOf(expression.source, offset)));
  }
}

/** A getter of the context that throws is the context's fault, but still no reason to end a session. */
const foreign = (thrown: unknown): LimitsStop =>
  new LimitsStop(
    'evaluation_failed',
    `Reading the context failed: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
  );

/**
 * The result of an expression as JSON. A list or object of the context is returned as it is; inside what the
 * expression made, every mention of one is paid for in full, so that a short list cannot stand for gigabytes.
 */
function toJson(value: Value, budget: Budget, depth = 0): Json {
  switch (typeof value) {
    case 'bigint':
      return safeNumber(value);
    case 'number':
      if (Number.isFinite(value)) return value;
      throw new LimitsStop(
        'bad_value',
        `The result holds ${value}, which JSON cannot.`,
        'Test the divisor first.',
      );
    case 'string':
      if (depth > 0) budget.spendText(value.length);
      return value;
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : containerJson(value, budget, depth);
  }
}

function containerJson(value: Exclude<Value & object, null>, budget: Budget, depth: number): Json {
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  if (value instanceof MadeList) {
    budget.spend(1 + value.items.length);
    return value.items.map((item) => toJson(item, budget, depth + 1));
  }
  if (value instanceof MadeMap) {
    budget.spend(1 + value.entries.size);
    return Object.fromEntries(
      [...value.entries].map(([key, item]) => [key, toJson(item, budget, depth + 1)]),
    );
  }
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) {
    throw new LimitsStop(
      'not_data',
      `The result holds ${label(value)}, which JSON cannot.`,
      'Compare it: type(x) == string.',
    );
  }
  if (depth > 0) payFor(value, budget, depth);
  return value as Json;
}

function payFor(value: unknown, budget: Budget, depth: number): void {
  budget.spend(1);
  if (typeof value === 'string') budget.spendText(value.length);
  if (typeof value !== 'object' || value === null) return;
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  const items = Array.isArray(value) ? value : isPlainObject(value) ? Object.values(value) : [];
  for (const item of items) payFor(item, budget, depth + 1);
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new LimitsStop(
    'out_of_range',
    `The result holds the int ${value}, which a JSON number cannot hold exactly.`,
    'Use string(x) or double(x).',
  );
}
