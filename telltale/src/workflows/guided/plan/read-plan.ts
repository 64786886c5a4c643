import type { PlannedAction } from '../../../events/run-event.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { err, ok, type Result } from '../../../kernel/result.ts';
import { isMap } from '../../../manifest/schema/is-map.ts';
import { clip, showValue } from '../../../manifest/schema/show-value.ts';
import { isShallow } from './is-shallow.ts';
import { jsonIn } from './json-in.ts';
import { MAX_ACTIONS, MAX_PLAN_CHARS, MAX_PLAN_DEPTH } from './plan-limits.ts';

const KEYS: ReadonlySet<string> = new Set(['action', 'parameters', 'expect']);
/** What models add to explain themselves: it changes nothing. Other keys (`if`, `depends_on`) would, and are refused. */
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
  if (list.length === 0) return err('The plan has no actions; it must have at least one.');
  if (list.length > MAX_ACTIONS)
    return err(`The plan has ${list.length} actions; ${MAX_ACTIONS} are the most.`);
  if (!isShallow(list, MAX_PLAN_DEPTH))
    return err(`The plan is nested deeper than ${MAX_PLAN_DEPTH} levels.`);
  const chars = JSON.stringify(list).length;
  if (chars > MAX_PLAN_CHARS) return err(`The plan has ${chars} characters; ${MAX_PLAN_CHARS} are the most.`);
  const plan: PlannedAction[] = [];
  for (const [index, item] of list.entries()) {
    const read = readAction(item);
    if (!read.ok) return err(`Action ${index + 1}: ${read.error}`);
    plan.push(read.value);
  }
  return ok(plan);
}

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
  const unknown = Object.keys(item).find((key) => !KEYS.has(key) && !REMARKS.has(key));
  if (unknown !== undefined) return err(`it has the key "${clip(unknown)}", which nothing reads. ${SHAPE}`);
  const action = own('action');
  if (typeof action !== 'string' || action === '')
    return err(`"action" is ${showValue(action)}; it must be the name of what is called. ${SHAPE}`);
  const parameters = own('parameters') ?? {};
  if (!isMap(parameters)) return err(`"parameters" is ${showValue(parameters)}; it must be an object.`);
  const expect = own('expect') ?? '';
  if (typeof expect !== 'string')
    return err(`"expect" is ${showValue(expect)}; it must be a CEL test, as text.`);
  return ok({
    action,
    parameters: parameters as JsonObject,
    ...(expect.trim() === '' ? {} : { expect }),
  });
}

const SHAPE = 'An action is {"action": "…", "parameters": {…}, "expect": "…"}.';
