import type { Json, JsonObject } from '../../lib/json.ts';
import { type DeclaredAction, isShown } from '../../log/action.ts';
import type { ObservedEvent, SessionEvent } from '../../log/event.ts';
import { knownParameters, type NameOf } from './describe-event.ts';
import { isToFix } from './root-cause.ts';

/** For an interrupted action. */
export const EFFECT_UNKNOWN = 'whether it took effect is not known';

export const skippedNote = ({
  reason,
  because,
}: {
  readonly reason: string;
  readonly because?: string;
}): string => (because === undefined ? reason : `${reason} (${because})`);

/** The state of an action, as a view shows it. */
export interface ActionView {
  readonly action: DeclaredAction;
  /** Its parameters, as far as they are known. */
  input: JsonObject;
  state:
    | 'waiting'
    | 'running'
    | 'retrying'
    | 'completed'
    | 'failed'
    | 'skipped'
    | 'cancelled'
    | 'interrupted';
  startedAt?: number;
  ms?: number;
  attempt: number;
  /** The result, the latest progress, or the error. */
  note?: Json;
  /** The output of a program before it failed. */
  printed?: Json;
}

export const isOver = ({ state }: ActionView): boolean =>
  state !== 'waiting' && state !== 'running' && state !== 'retrying';

/** The actions of a session by id, in the order of their declaration. */
export interface ActionLog {
  /** Applies an event. Returns the action that it is about, if that action is shown. */
  take(event: ObservedEvent): ActionView | undefined;
  readonly nameOf: NameOf;
  running(): readonly ActionView[];
}

export function createActionLog(): ActionLog {
  const actions = new Map<string, ActionView>();
  const open = new Map<string, ActionView>();

  const change = (id: string, changes: Partial<ActionView>): ActionView | undefined => {
    const view = actions.get(id);
    if (view === undefined) return undefined;
    Object.assign(view, changes);
    if (isOver(view)) open.delete(id);
    return isShown(view.action) ? view : undefined;
  };

  return {
    take(event) {
      switch (event.type) {
        case 'action.declared': {
          const { action } = event;
          const view: ActionView = { action, input: knownParameters(action), state: 'waiting', attempt: 0 };
          actions.set(event.action.id, view);
          open.set(event.action.id, view);
          return isShown(event.action) ? view : undefined;
        }
        case 'action.started': {
          const known = actions.get(event.id);
          const startedAt = known?.startedAt ?? event.at;
          const input = { ...known?.input, ...event.input };
          const { attempt } = event;
          return change(event.id, { state: 'running', startedAt, attempt, input });
        }
        case 'action.progress':
          return change(event.id, { note: event.data });
        case 'action.retrying':
          return change(event.id, { state: 'retrying', note: event.error.message });
        case 'action.completed':
          return change(event.id, { state: 'completed', ms: event.ms, note: event.output });
        case 'action.failed': {
          // The full text is shown below.
          const { code, message, output } = event.error;
          const note = isToFix(event.error) ? code : `${code}: ${message}`;
          const printed = output === undefined ? {} : { printed: output };
          const end = { state: 'failed', ms: event.ms, attempt: event.attempts } as const;
          return change(event.id, { ...end, note, ...printed });
        }
        case 'action.skipped':
          return change(event.id, { state: 'skipped', note: skippedNote(event) });
        case 'action.cancelled':
          return change(event.id, { state: 'cancelled', note: event.reason });
        case 'action.interrupted':
          return change(event.id, { state: 'interrupted', note: EFFECT_UNKNOWN });
      }
      return undefined;
    },
    nameOf: (id) => actions.get(id)?.action.name,
    running: () => [...open.values()].filter(({ action, state }) => state !== 'waiting' && isShown(action)),
  };
}

/** The time that a session was worked on, without pauses for a person or between two processes. */
export interface WorkedTime {
  add(event: SessionEvent): void;
  /** In milliseconds. `leftAt` is when the session was released, if no event says so: the work lasted until then. */
  result(leftAt?: number): number;
}

export function createWorkedTime(): WorkedTime {
  let firstAt: number | undefined;
  let lastAt = 0;
  let pausedMs = 0;
  let waitingSince: number | undefined;
  return {
    add(event) {
      firstAt ??= event.at;
      if (event.type === 'session.waiting') waitingSince ??= event.at;
      else if (event.type === 'session.resumed') {
        pausedMs += event.at - (waitingSince ?? lastAt);
        waitingSince = undefined;
      } else if (event.type === 'turn.started') {
        if (waitingSince !== undefined) pausedMs += event.at - waitingSince;
        waitingSince = undefined;
      }
      lastAt = event.at;
    },
    result(leftAt = lastAt) {
      const until = waitingSince ?? Math.max(lastAt, leftAt);
      return Math.max(0, until - (firstAt ?? until) - pausedMs);
    },
  };
}
