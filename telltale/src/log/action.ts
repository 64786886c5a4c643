import type { ActionEnvelope, ActionKind, ActionMode } from '../lib/calls.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';

/**
 * An action as it stands on the log: what the model asked for, with the defaults of its template filled in. Parameters
 * still hold their references: they are resolved just before the start.
 */
export interface DeclaredAction extends ActionEnvelope {
  readonly kind: ActionKind;
  readonly mode: ActionMode;
  readonly name: string;
  /** The `<parallel id>` it stands in. */
  readonly group?: string;
  /** Those around that one, outermost first, where there are any: it is one of theirs, too. */
  readonly within?: readonly string[];
  /** The id before `[0]`, where a `<foreach>` made it. */
  readonly base?: string;
  /** Which round of the `<foreach>` it is. */
  readonly index?: number;
  /** Names that only this action knows: the item of its `<foreach>`. */
  readonly locals?: JsonObject;
  /**
   * What the references in its parameters, and in those of `compensate`, were bound to when it was declared: ids of
   * actions by name. Later declarations change nothing about it. `{{name}}` is text where the name is not in here; for
   * `$id` there is an entry only where the name is not the id.
   */
  readonly references?: Readonly<Record<string, string>>;
}

/** Why an action never started. */
export type SkipReason = 'if' | 'dependency' | 'unknown_dependency' | 'deadlock' | 'turn_failed';

export type ActionStatus =
  | 'waiting'
  | 'running'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'
  | 'interrupted'
  | 'compensated';

/** What is known of an action: a fold of its events. */
export interface ActionState {
  readonly action: DeclaredAction;
  /** The turn that declared it. */
  readonly turn: number;
  status: ActionStatus;
  /** Whether it had not ended when its turn stopped waiting: it runs in the background from then on. */
  background?: true;
  /** Tries begun so far. */
  attempts: number;
  /** The resolved parameters of the last try. */
  input?: JsonObject;
  output?: Json;
  error?: ErrorJson;
  skipped?: { readonly reason: SkipReason; readonly because?: string };
  ms?: number;
}

/** Whether it stands for a `<foreach>` on the log. */
export const isForEach = ({ kind, name }: Pick<DeclaredAction, 'kind' | 'name'>): boolean =>
  kind === 'internal' && name === 'foreach';

/** Whether the model is told how it ended: all but `fire_and_forget`. */
export const isReported = ({ mode }: Pick<DeclaredAction, 'mode'>): boolean => mode !== 'fire_and_forget';

/** Whether nobody waits for it: it was declared so, or had not ended when its turn stopped waiting. */
export const isInBackground = ({ action, background }: Pick<ActionState, 'action' | 'background'>): boolean =>
  action.mode === 'background' || background === true;

/** Whether the model hears of it: a `<foreach>` is on the log as an action of its own, which nobody asked for. */
export const isShown = (action: DeclaredAction): boolean =>
  !(action.kind === 'internal' && action.name === 'foreach');

/** The internal action by which an agent says that its step is done. */
export const COMPLETE_STEP = 'complete_step';

/** The internal action by which an agent hands the conversation to another one. */
export const HANDOFF = 'handoff';

export const isHandoff = ({ kind, name }: Pick<DeclaredAction, 'kind' | 'name'>): boolean =>
  kind === 'internal' && name === HANDOFF;

export const completesStep = ({ kind, name }: Pick<DeclaredAction, 'kind' | 'name'>): boolean =>
  kind === 'internal' && name === COMPLETE_STEP;

/** The internal action by which an agent has completed actions undone. */
export const ROLLBACK = 'rollback';

export const rollsBack = ({ kind, name }: Pick<DeclaredAction, 'kind' | 'name'>): boolean =>
  kind === 'internal' && name === ROLLBACK;

/** Whether it was wanted and did not come about. One whose `if` did not hold was not; one whose `if` is broken was. */
export const cameToNothing = ({ status, skipped }: ActionState): boolean =>
  status === 'failed' ||
  status === 'cancelled' ||
  status === 'interrupted' ||
  (status === 'skipped' && (skipped?.reason !== 'if' || skipped.because !== undefined));

/** Whether it has ended, in whatever way. */
export const hasEnded = (status: ActionStatus): boolean => status !== 'waiting' && status !== 'running';

/**
 * A model may use an id of an earlier turn again. The first action of an id has that id on the log; each later one has
 * the id and its turn, `read@5`, so that every action is known by an id of its own. No model can write an `@` into an id.
 */
export const idInTurn = (written: string, turn: number): string => `${written}@${turn}`;

const TURN_SUFFIX = /@(\d+)/g;

/** The id as the model wrote it. */
export const writtenId = (id: string): string => (id.includes('@') ? id.replaceAll(TURN_SUFFIX, '') : id);

/** Actions by their ids on the log, and the newest id on the log of each written id that was used again. */
interface KnownIds {
  readonly actions: ReadonlyMap<string, ActionState>;
  readonly reused?: ReadonlyMap<string, string>;
}

/**
 * The id on the log that an id in a model's text stands for now: the newest action or group that has it. `read@2` is the
 * one of turn 2.
 */
export function newestOf({ actions, reused }: KnownIds, asked: string): string {
  if (asked.includes('@')) {
    if (actions.has(asked)) return asked;
    const first = writtenId(asked);
    return idInTurn(first, actions.get(first)?.turn ?? 0) === asked ? first : asked;
  }
  if (reused === undefined) return asked;
  const bracket = asked.indexOf('[');
  const base = bracket === -1 ? asked : asked.slice(0, bracket);
  return (reused.get(base) ?? base) + asked.slice(base.length);
}

/** An id for a model to name the action by, and no newer one of the same id. */
export function idFor(state: KnownIds, id: string): string {
  const written = writtenId(id);
  if (newestOf(state, written) === id) return written;
  return id === written ? idInTurn(id, state.actions.get(id)?.turn ?? 0) : id;
}

/** The action that was declared in `turn` under an id as it was written there. */
export function declaredIn(
  actions: ReadonlyMap<string, ActionState>,
  turn: number,
  written: string,
): string | undefined {
  for (const id of [idInTurn(written, turn), written]) if (actions.get(id)?.turn === turn) return id;
  return undefined;
}

/** All ids that an action takes: its own, those of its groups, and those of the actions that it will create. */
export function* idsOf(action: DeclaredAction): Iterable<string> {
  yield action.id;
  if (action.group !== undefined) yield action.group;
  if (action.within !== undefined) yield* action.within;
  if (action.base !== undefined) yield action.base;
  if (isShown(action)) return;
  // The ids of a `<foreach>`'s actions and groups are taken even if it created none of them.
  const { actions } = action.parameters;
  if (Array.isArray(actions))
    for (const made of actions as unknown as readonly DeclaredAction[]) yield* idsOf(made);
}
