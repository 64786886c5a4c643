import { readPath } from '../../conditions/own-property.ts';
import { readWholeReference } from '../../conditions/references/reference.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import { resolveTemplate } from '../../conditions/templates/resolve-template.ts';
import type { StepState } from '../../events/run-state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ForeachStep } from '../../manifest/schema/steps/step.ts';
import type { Locals } from '../scope.ts';
import { listTooLong, listUnknown, notAList } from './failures.ts';
import { MAX_FOREACH_ITEMS } from './limits.ts';
import type { Walk } from './walk.ts';

/** The items of a `foreach` that has begun: what a reference led to then stays. Undefined where it has not. */
export function itemsOnLog(known: StepState | undefined, step: ForeachStep): readonly Json[] | undefined {
  const items = known?.input?.items;
  if (Array.isArray(items)) return items as readonly Json[];
  return known !== undefined && Array.isArray(step.in) ? (step.in as readonly Json[]) : undefined;
}

/** The items as they are now: `step.in` itself where nothing in it refers to anything. Rejects with `bad_list`. */
export async function itemsOf(
  walk: Walk,
  step: ForeachStep,
  address: string,
  locals: Locals,
): Promise<readonly Json[]> {
  const source = step.in as Json;
  const shown = typeof source === 'string' ? source : '[…]';
  const found = JSON.stringify(source).includes('$')
    ? await resolve(walk, source, address, shown, locals)
    : source;
  if (!Array.isArray(found)) throw notAList(address, shown, nameOf(found));
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
