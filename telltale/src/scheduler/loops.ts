import { readWholeReference } from '../expressions/references/reference.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import { listTooLong, noList } from './failures.ts';
import type { Loop } from './scheduler.ts';

/** Items of the list a `<foreach>` may have. */
const MAX_LOOP_ITEMS = 1000;
/** Actions that one `<foreach>` may make: items times the actions in it. */
const MAX_LOOP_ACTIONS = 10_000;

/** A `<foreach>` as it stands on the log: an action of its own, so that it survives a restart. */
export const loopAction = (id: string, { in: list, as, actions }: Loop): DeclaredAction => ({
  id,
  kind: 'internal',
  mode: loopMode(actions),
  name: 'foreach',
  // Plain data, in both directions: actions came from JSON.
  parameters: { in: list, as, actions: actions as unknown as Json },
});

/** Somebody waits for it where somebody waits for anything that it makes. */
function loopMode(actions: Loop['actions']): DeclaredAction['mode'] {
  if (actions.every(({ mode }) => mode === 'fire_and_forget')) return 'fire_and_forget';
  const isAwaited = actions.some(({ mode }) => mode !== 'fire_and_forget' && mode !== 'background');
  return isAwaited ? 'async' : 'background';
}

export const isLoop = ({ kind, name }: DeclaredAction): boolean => kind === 'internal' && name === 'foreach';

/** The inverse of `loopAction`, for a log that is read again. */
export function loopOf({ parameters }: DeclaredAction): Loop {
  const { in: list, as, actions } = parameters as unknown as Loop;
  return { in: list, as, actions };
}

/** The list, once `in` was resolved to `value`; `nothing` says why it is none where it was not. */
export function itemsOf(
  { in: source, actions }: Loop,
  given: Json,
  nothing: () => RuntimeError,
): Result<readonly Json[]> {
  const value = given === source ? (writtenList(source) ?? given) : given;
  if (!Array.isArray(value)) {
    const unresolved = value === source && readWholeReference(source) !== undefined;
    return err(unresolved ? nothing() : noList(source, described(value)));
  }
  if (value.length > MAX_LOOP_ITEMS) return err(listTooLong(source, value.length, MAX_LOOP_ITEMS));
  const made = value.length * actions.length;
  return made > MAX_LOOP_ACTIONS
    ? err(listTooLong(source, made, MAX_LOOP_ACTIONS))
    : ok(value as readonly Json[]);
}

/** A list that stands in the tag itself, as JSON. */
function writtenList(source: string): Json | undefined {
  if (!source.trimStart().startsWith('[')) return undefined;
  try {
    return JSON.parse(source) as Json;
  } catch {
    return undefined; // told as no list
  }
}

function described(value: Json): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** What the loop makes, round by round. `references`: what was bound when the loop was declared. */
export function* rounds(
  loop: Loop,
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
