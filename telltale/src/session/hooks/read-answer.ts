import { deepEqual } from '../../conditions/deep-equal.ts';
import { isPlainObject } from '../../conditions/own-property.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { clip, showValue } from '../../manifest/schema/show-value.ts';
import type { CheckParameters, HookKind } from './hook-types.ts';

/** What a hook's answer comes to. */
export type Verdict =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'changed'; readonly to: Json };

/** What the answer is held against: the parameters or the result as they are. */
export interface Asked {
  readonly now: Json;
  readonly check?: CheckParameters | undefined;
}

/** Characters of a reason that a model is told. */
const MAX_REASON = 2_000;
const NO_REASON = 'it gave no reason';
const PASSED: Verdict = { outcome: 'passed' };

/** Pure. Err: what is wrong with an answer that cannot be used; then the hook's fallback counts. */
export function readAnswer(hook: HookKind, answer: Json, asked: Asked): Result<Verdict, string> {
  switch (hook) {
    case 'before_turn':
    case 'after_turn':
    case 'on_error':
      return ok(PASSED); // it only observes
    case 'before_action':
      return readBefore(answer, asked);
    case 'after_action':
      return readAfter(answer, asked);
  }
}

function readBefore(answer: Json, { now, check }: Asked): Result<Verdict, string> {
  if (answer === null || answer === true) return ok(PASSED);
  if (answer === false) return ok({ outcome: 'refused', reason: NO_REASON });
  if (isPlainObject(answer)) {
    const { refuse, parameters } = answer as JsonObject;
    if (typeof refuse === 'string' || refuse === true)
      return ok({ outcome: 'refused', reason: refuse === true ? NO_REASON : reasonOf(refuse) });
    if (isPlainObject(parameters)) return readChanged(parameters as JsonObject, now, check);
  }
  return err(unusable(answer, 'nothing, true, false, {"refuse": "why"} or {"parameters": {…}}'));
}

function readChanged(to: JsonObject, now: Json, check: CheckParameters | undefined): Result<Verdict, string> {
  if (deepEqual(to, now)) return ok(PASSED);
  const problem = check?.(to);
  return problem === undefined
    ? ok({ outcome: 'changed', to })
    : err(`the parameters it gave do not fit: ${problem.message}`);
}

function readAfter(answer: Json, { now }: Asked): Result<Verdict, string> {
  if (answer === null || answer === true) return ok(PASSED);
  const result = isPlainObject(answer) ? (answer as JsonObject).result : undefined;
  if (result !== undefined) return ok(deepEqual(result, now) ? PASSED : { outcome: 'changed', to: result });
  return err(unusable(answer, 'nothing, true or {"result": …}'));
}

const reasonOf = (text: string): string => clip(text.trim(), MAX_REASON) || NO_REASON;

const unusable = (answer: Json, allowed: string): string =>
  `it answered ${clip(showValue(answer), 200)}; a hook here answers ${allowed}`;
