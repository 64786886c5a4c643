import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import type { Json } from '../../../../../telltale/src/lib/json.ts';
import type { MessageFrom } from '../../../../../telltale/src/log/event.ts';
import type { FieldError } from '../../../../../telltale/src/log/session-events.ts';
import type { ActionRow, RunRow, TurnRow } from './waterfall-rows.ts';

interface Place {
  /** The event of the item; 0 for an element that is only live. */
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
}

export type NoteTone = 'plain' | 'wait' | 'warn' | 'fail' | 'done';

/** One item of the conversation, from top to bottom. */
export type StreamItem = Place &
  (
    | { readonly kind: 'message'; readonly from: MessageFrom; readonly text: string }
    | { readonly kind: 'turn'; readonly row: TurnRow }
    | { readonly kind: 'thought'; readonly depth: number; readonly text: string; readonly open?: true }
    | { readonly kind: 'text'; readonly text: string }
    | {
        readonly kind: 'response';
        readonly text: string;
        /** `open`: still streaming, or waiting for the values of its `$names`. */
        readonly final: boolean | 'open';
        /** The agent that says it, if it is not the session's own. */
        readonly speaker?: string;
      }
    | { readonly kind: 'action'; readonly row: ActionRow; readonly depth: number }
    | {
        readonly kind: 'metadata';
        readonly changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>;
        readonly by: string;
      }
    | { readonly kind: 'rejected'; readonly errors: readonly FieldError[] }
    | { readonly kind: 'fault'; readonly code: string; readonly message: string }
    | { readonly kind: 'run'; readonly row: RunRow }
    | { readonly kind: 'run-end'; readonly row: RunRow; readonly told: boolean }
    | {
        readonly kind: 'review';
        readonly review: string;
        readonly action: string;
        readonly what: string;
        readonly target: string;
      }
    | { readonly kind: 'note'; readonly tone: NoteTone; readonly text: string; readonly error?: ErrorJson }
    | { readonly kind: 'end'; readonly tone: NoteTone; readonly text: string; readonly error?: ErrorJson }
  );

/** Stays the same while more becomes known of an item. The live and the logged form of an element share it. */
export const itemKey = (item: StreamItem): string => `${item.kind} ${item.seq}`;

/** Whether an item shows an event. An action's item shows all of its events. */
export function isItemOf(item: StreamItem, seq: number): boolean {
  if (item.seq === seq) return true;
  if (item.kind === 'action')
    return (
      item.row.end?.seq === seq || item.row.attempts.some((each) => each.seq === seq || each.end?.seq === seq)
    );
  return item.kind === 'turn' && item.row.end?.seq === seq;
}
