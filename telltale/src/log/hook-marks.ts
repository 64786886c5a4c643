import type { JsonObject } from '../lib/json.ts';
import type { HookRecord } from './event.ts';

/** A hook that was asked, for as long as somebody could ask it again about the same. */
export interface HookMark extends Pick<HookRecord, 'hook' | 'of' | 'index' | 'action'> {
  /** See `HookRecord`. */
  readonly input?: JsonObject;
  /** Why it refused, where it did. */
  readonly refused?: string;
}

/** Marks a hook as asked. What comes of an `after_action` is on the log together with the action's end. */
export function markHook(marks: readonly HookMark[], record: HookRecord): readonly HookMark[] {
  const { hook, of, index, action, input, outcome, reason } = record;
  if (hook === 'after_action') return marks;
  return [
    ...marks,
    {
      hook,
      of,
      index,
      ...(action === undefined ? {} : { action }),
      ...(input === undefined ? {} : { input }),
      ...(outcome === 'refused' ? { refused: reason ?? '' } : {}),
    },
  ];
}

/** An action has ended: nobody asks any more whether it may begin. That it failed may still have to be told. */
export const withoutBegun = (marks: readonly HookMark[], action: string): HookMark[] =>
  marks.filter((mark) => mark.hook !== 'before_action' || mark.action !== action);

/** A turn begins: all that the one before it was to be told of has been told. */
export const withoutTurn = (marks: readonly HookMark[]): HookMark[] =>
  marks.filter((mark) => mark.hook === 'before_action');

/** The parameters that hooks left of an action that has not begun; undefined where they are the declared ones. */
export const hookedInput = (marks: readonly HookMark[], action: string): JsonObject | undefined =>
  marks.findLast((mark) => mark.action === action && mark.input !== undefined)?.input;
