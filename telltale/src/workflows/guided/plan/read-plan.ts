import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import { COMPLETE_STEP } from '../../../events/action.ts';
import type { PlannedAction } from '../../../events/run-event.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { err, ok, type Result } from '../../../kernel/result.ts';
import { isMap } from '../../../manifest/schema/is-map.ts';
import { clip, showValue } from '../../../manifest/schema/show-value.ts';
import { isShallow } from './is-shallow.ts';
import { jsonIn } from './json-in.ts';
import { MAX_ACTIONS, MAX_PLAN_CHARS, MAX_PLAN_DEPTH } from './plan-limits.ts';

const KEYS: ReadonlySet<string> = new Set(['action', 'parameters', 'expect', 'expected_outcome']);
/** What would change how an action is done, and is refused. */
const CONTROLS: ReadonlySet<string> = new Set([
  'if',
  'condition',
  'depends_on',
  'needs',
  'mode',
  'timeout',
  'retry',
  'on_error',
  'output_key',
]);
/** What models add to explain themselves: it changes nothing. */
const REMARKS: ReadonlySet<string> = new Set([
  'id',
  'step',
  'description',
  'reason',
  'comment',
  'purpose',
  'why',
  'thought',
]);
const WRAPPERS = ['plan', 'actions', 'steps'] as const;
const QUOTED_CHARS = 200;

/**
 * The plan in a model's answer: a JSON list, alone, in a fence, with prose around it or in an object. The error says
 * what was found in its place. Which targets there are is not looked at here.
 */
export function readPlan(answer: string): Result<readonly PlannedAction[], string> {
  const list = listIn(answer);
  if (list === undefined)
    return err(
      answer.trim() === ''
        ? 'The answer is empty; a JSON list of actions was asked for.'
        : `The answer holds no JSON list of actions. It begins: ${JSON.stringify(clip(answer.trim(), QUOTED_CHARS))}`,
    );
  const actions = withoutCompletion(list);
  if (actions.length === 0) return err('The plan has no actions; it must have at least one.');
  if (list.length > MAX_ACTIONS)
    return err(`The plan has ${list.length} actions; ${MAX_ACTIONS} are the most.`);
  if (!isShallow(list, MAX_PLAN_DEPTH))
    return err(`The plan is nested deeper than ${MAX_PLAN_DEPTH} levels.`);
  const chars = JSON.stringify(list).length;
  if (chars > MAX_PLAN_CHARS) return err(`The plan has ${chars} characters; ${MAX_PLAN_CHARS} are the most.`);
  const plan: PlannedAction[] = [];
  for (const [index, item] of actions.entries()) {
    const read = readAction(item);
    if (!read.ok) return err(`Action ${index + 1}: ${read.error}`);
    plan.push(read.value);
  }
  return ok(plan);
}

/**
 * WorkRail's plans end with `complete_step`. The step is complete when the plan is done, and its notes are written then:
 * notes that were written beforehand cannot say what came of it.
 */
const withoutCompletion = (list: readonly Json[]): readonly Json[] => {
  const last = list.at(-1);
  return isMap(last) && last.action === COMPLETE_STEP ? list.slice(0, -1) : list;
};

/** The first list of objects; else the first list at all, so that it can be said what is wrong with it. */
function listIn(answer: string): readonly Json[] | undefined {
  let first: readonly Json[] | undefined;
  for (const value of jsonIn(answer)) {
    const list = unwrapped(value);
    if (list?.every(isMap) && list.length > 0) return list;
    first ??= list;
  }
  return first;
}

function unwrapped(value: Json): readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[];
  if (!isMap(value)) return undefined;
  if (Object.hasOwn(value, 'action')) return [value as Json];
  for (const key of WRAPPERS)
    if (Object.hasOwn(value, key) && Array.isArray(value[key])) return value[key] as readonly Json[];
  return undefined;
}

function readAction(item: Json): Result<PlannedAction, string> {
  if (!isMap(item)) return err(`it is ${showValue(item)}, not an object. ${SHAPE}`);
  const own = (key: string): unknown => (Object.hasOwn(item, key) ? item[key] : undefined);
  const stray = Object.keys(item).filter((key) => !KEYS.has(key) && !REMARKS.has(key));
  // Without "parameters" they stand beside the action, as WorkRail writes them.
  const isFlat =
    typeof own('action') === 'string' &&
    own('parameters') === undefined &&
    !stray.some((key) => CONTROLS.has(key));
  const [unknown] = isFlat ? [] : stray;
  if (unknown !== undefined) return err(`it has the key "${clip(unknown)}", which nothing reads. ${SHAPE}`);
  const action = own('action');
  if (typeof action !== 'string' || action === '')
    return err(`"action" is ${showValue(action)}; it must be the name of what is called. ${SHAPE}`);
  const parameters = isFlat
    ? Object.fromEntries(stray.map((key) => [key, own(key)]))
    : (own('parameters') ?? {});
  if (!isMap(parameters)) return err(`"parameters" is ${showValue(parameters)}; it must be an object.`);
  const expect = own('expect') ?? '';
  if (typeof expect !== 'string')
    return err(`"expect" is ${showValue(expect)}; it must be a CEL test, as text.`);
  const outcome = own('expected_outcome') ?? '';
  if (typeof outcome !== 'string')
    return err(`"expected_outcome" is ${showValue(outcome)}; it must be text.`);
  if (expect.trim() !== '' && outcome.trim() !== '' && expect !== outcome)
    return err(
      '"expect" and "expected_outcome" are two names of one key, and say different things. Give only "expect".',
    );
  const isTest = outcome.trim() === '' || isTestOfResults(outcome);
  const test = expect.trim() === '' && isTest ? outcome : expect;
  return ok({
    action,
    parameters: parameters as JsonObject,
    ...(test.trim() === '' ? {} : { expect: test }),
    ...(isTest || expect.trim() !== '' ? {} : { expected: outcome.trim() }),
  });
}

/** What is expected may be said as a test, or in words: `understand loop structure`. */
function isTestOfResults(text: string): boolean {
  const read = parseExpression(text);
  return (
    read.ok && read.value.names.length > 0 && read.value.names.every(({ root }) => /^results?$/.test(root))
  );
}

const SHAPE = 'An action is {"action": "…", "parameters": {…}, "expect": "…"}.';
