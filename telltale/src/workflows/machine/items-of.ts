import { readPath } from '../../conditions/own-property.ts';
import { readWholeReference } from '../../conditions/references/reference.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import { resolveTemplate } from '../../conditions/templates/resolve-template.ts';
import type { StepState } from '../../events/run-state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ForeachStep } from '../../manifest/schema/steps/step.ts';
import { allSteps } from '../all-steps.ts';
import type { Locals } from '../scope.ts';
import type { StepOf } from '../steps/leaf-edges.ts';
import { listTooLong, listUnknown, notAList } from './failures.ts';
import { MAX_FOREACH_ITEMS } from './limits.ts';
import type { Place, Walk } from './walk.ts';

/** The items of a `foreach` that has begun: what a reference led to then stays. Undefined where it has not. */
export function itemsOnLog(known: StepState | undefined, step: ForeachStep): readonly Json[] | undefined {
  const items = known?.input?.items;
  if (Array.isArray(items)) return items as readonly Json[];
  return known !== undefined && Array.isArray(step.in) ? (step.in as readonly Json[]) : undefined;
}

/**
 * The items, which an agent is asked for where nobody has set the list and an agent may. `list_items`, below the step, is
 * then a task like any other; it fails the step only where it fails itself.
 */
export async function itemsSet(
  walk: Walk,
  step: ForeachStep,
  address: string,
  place: Place,
): Promise<readonly Json[]> {
  const { locals } = place;
  const asked = walk.state.steps.has(`${address}/${ASKED}`)
    ? variableOf(step)
    : listToAskFor(walk, step, locals);
  if (asked !== undefined) {
    const inner = { ...place, prefix: `${address}/`, depth: place.depth + 1 };
    const ended = await walk.list([taskFor(walk, asked)], inner);
    if (ended.kind === 'failed') throw listUnknown(address, String(step.in), ended.error.message);
    if (place.branch.stopped !== undefined) return [];
  }
  return itemsOf(walk, step, address, locals);
}

const ASKED = 'list_items';

/** The variable whose value the list is, whole: `$name` or `${vars.name}`. */
function variableOf({ in: source }: ForeachStep): string | undefined {
  if (typeof source !== 'string') return undefined;
  const plain = readWholeReference(source);
  if (plain !== undefined) return plain.path.length === 0 ? plain.name : undefined;
  return /^\$\{\s*vars\.([A-Za-z_][A-Za-z0-9_]*)\s*\}$/.exec(source)?.[1];
}

function listToAskFor({ workflow, state }: Walk, step: ForeachStep, locals: Locals): string | undefined {
  const name = variableOf(step);
  if (name === undefined || Array.isArray(state.variables.get(name))) return undefined;
  const tasks = allSteps(workflow).filter((each) => each.type === 'task');
  if (tasks.length === 0) return undefined;
  const isOther = String(step.in).startsWith('${')
    ? false
    : Object.hasOwn(locals, name) || state.outputs.has(name);
  const declared = workflow.context_variables.runtime.find((each) => each.name === name);
  const isForModels =
    declared === undefined
      ? tasks.some(({ requires }) => Object.hasOwn(requires, name))
      : declared.writers.includes('model');
  return isOther || !isForModels ? undefined : name;
}

const taskFor = ({ workflow, state }: Walk, name: string): StepOf<'task'> => {
  const { description } = workflow.context_variables.runtime.find((each) => each.name === name) ?? {};
  const what = description === undefined ? '' : ` (${description})`;
  const now = state.variables.get(name) ?? null;
  return {
    name: ASKED,
    type: 'task',
    prompt: `What comes next is done once for each item of the list "${name}"${what}, but ${now === null ? 'nobody has set it' : `its value is ${nameOf(now)}, not a list`}. Say which items there are: complete this step with "${name}" in context_updates. If there is nothing to do, the list is empty.`,
    requires: { [name]: { type: 'array' } },
    evidence: [],
    fragments: [],
  };
};

/** The items as they are now: `step.in` itself where nothing in it refers to anything. Rejects with `bad_list`. */
export async function itemsOf(
  walk: Walk,
  step: ForeachStep,
  address: string,
  locals: Locals,
): Promise<readonly Json[]> {
  const source = step.in as Json;
  const shown = typeof source === 'string' ? source : '[…]';
  const given = JSON.stringify(source).includes('$')
    ? await resolve(walk, source, address, shown, locals)
    : source;
  if (!Array.isArray(given)) throw notAList(address, shown, nameOf(given));
  const found = step.max === undefined || given.length <= step.max ? given : given.slice(0, step.max);
  if (found.length > MAX_FOREACH_ITEMS) throw listTooLong(address, found.length);
  return found as readonly Json[];
}

async function resolve(
  walk: Walk,
  source: Json,
  address: string,
  shown: string,
  locals: Locals,
): Promise<Json> {
  const plain = typeof source === 'string' ? readWholeReference(source) : undefined;
  if (plain !== undefined) {
    const value =
      locals[plain.name] ?? walk.state.outputs.get(plain.name) ?? walk.state.variables.get(plain.name);
    const found = value === undefined ? undefined : readPath(value, plain.path);
    if (found === undefined)
      throw listUnknown(address, shown, 'it names nothing.', 'Name a step, an output_key or a variable.');
    return found as Json;
  }
  const scope = await walk.scope.forTemplate(source, locals, address);
  return fill(
    source,
    scope,
    (problem, hint) => listUnknown(address, shown, problem, hint),
    Object.keys(locals),
  );
}

function fill(
  value: Json,
  scope: JsonObject,
  problem: (message: string, hint?: string) => Error,
  names: readonly string[],
): Json {
  if (typeof value === 'string') {
    if (!value.includes('${')) return value;
    const template = parseTemplate(value, { names });
    if (!template.ok)
      throw problem(template.error[0]?.message ?? 'it cannot be read.', template.error[0]?.hint);
    const filled = resolveTemplate(template.value, scope);
    if (!filled.ok) throw problem(filled.error.message, filled.error.hint);
    return filled.value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => fill(item, scope, problem, names));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item as Json, scope, problem, names)]),
  );
}

const nameOf = (value: Json): string =>
  value === null ? 'null' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
