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
