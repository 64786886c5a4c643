import { readWholeReference } from '../expressions/references/reference.ts';
import { err, ok, type Result, type RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import { listTooLong, noList } from './faults.ts';
import type { ForEachLoop } from './scheduler-deps.ts';

/** How many items the list of a `<foreach>` may have. */
const MAX_LOOP_ITEMS = 1000;
/** How many actions one `<foreach>` may create: items times the actions in it. */
const MAX_LOOP_ACTIONS = 10_000;

/** A `<foreach>` as an action of its own on the log, so that it survives a restart. */
export const loopAction = (id: string, { in: list, as, actions }: ForEachLoop): DeclaredAction => ({
  id,
  kind: 'internal',
  mode: loopMode(actions),
  name: 'foreach',
  // The actions are plain JSON.
  parameters: { in: list, as, actions: actions as unknown as Json },
});

/** The agent waits for a `<foreach>` if it waits for any of its actions. */
function loopMode(actions: ForEachLoop['actions']): DeclaredAction['mode'] {
  if (actions.every(({ mode }) => mode === 'fire_and_forget')) return 'fire_and_forget';
  const isAwaited = actions.some(({ mode }) => mode !== 'fire_and_forget' && mode !== 'background');
  return isAwaited ? 'async' : 'background';
}

/** Reads the `<foreach>` back from its action on the log. */
export function loopOf({ parameters }: DeclaredAction): ForEachLoop {
  const { in: list, as, actions } = parameters as unknown as ForEachLoop;
  return { in: list, as, actions };
}

/** The list that `in` was resolved to. `whyUnresolved` makes the error if `in` is a reference that stands for nothing. */
export function itemsOf(
  { in: source, actions }: ForEachLoop,
  given: Json,
  whyUnresolved: () => RuntimeError,
): Result<readonly Json[]> {
  const value = given === source ? (writtenList(source) ?? given) : given;
  if (!Array.isArray(value)) {
    const unresolved = value === source && readWholeReference(source) !== undefined;
    return err(unresolved ? whyUnresolved() : noList(source, described(value)));
  }
  if (value.length > MAX_LOOP_ITEMS) return err(listTooLong(source, value.length, MAX_LOOP_ITEMS));
  const made = value.length * actions.length;
  return made > MAX_LOOP_ACTIONS
    ? err(listTooLong(source, made, MAX_LOOP_ACTIONS))
    : ok(value as readonly Json[]);
}

/** A list that is written in the tag itself, as JSON. */
function writtenList(source: string): Json | undefined {
  if (!source.trimStart().startsWith('[')) return undefined;
  try {
    return JSON.parse(source) as Json;
  } catch {
    return undefined; // reported as no list
  }
}

function described(value: Json): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The actions of a `<foreach>`, iteration by iteration. `references`: what was bound when the loop was declared. */
export function* iterationActions(
  loop: ForEachLoop,
  items: readonly Json[],
  references: DeclaredAction['references'],
): Iterable<DeclaredAction> {
  const siblings = new Set(loop.actions.map(({ id }) => id));
  for (const [index, item] of items.entries()) {
    const locals: JsonObject = { [loop.as]: item };
    for (const action of loop.actions) {
      const member = memberOf(action, index, locals, siblings);
      yield references === undefined ? member : { ...member, references };
    }
  }
}

function memberOf(
  action: DeclaredAction,
  index: number,
  locals: JsonObject,
  siblings: ReadonlySet<string>,
): DeclaredAction {
  const depends = action.depends_on?.map((id) => (siblings.has(id) ? `${id}[${index}]` : id));
  return {
    ...action,
    id: `${action.id}[${index}]`,
    ...(depends === undefined ? {} : { depends_on: depends }),
    base: action.id,
    index,
    locals,
  };
}
