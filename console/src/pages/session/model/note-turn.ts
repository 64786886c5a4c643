import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import type { EventOf, SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { TURN_BROKEN_OFF, TURN_CUT_SHORT } from '../../../../../telltale/src/log/fold-turns.ts';
import type { Tag, TurnRow } from './waterfall-rows.ts';

/** Labels of tags are cut to this length for the tooltip. */
const MAX_LABEL = 80;

export function endTurn(row: TurnRow | undefined, event: EventOf<'turn.completed' | 'turn.failed'>): void {
  if (row === undefined || row.end !== undefined) return;
  const { seq, at } = event;
  if (event.type === 'turn.completed')
    row.end = {
      seq,
      at,
      spokeUntil: Math.min(at, row.at + event.ms),
      firstTokenMs: event.first_token_ms,
      usage: event.usage,
      cost: event.cost_usd,
      finish: event.finish,
    };
  else {
    const isCut = isInterruption(event.error);
    const spokeUntil = isCut ? (row.lastOutput?.at ?? row.at) : at;
    row.end = {
      seq,
      at,
      spokeUntil,
      finish: isCut ? 'interrupted' : 'failed',
      error: event.error,
      ...(event.usage === undefined ? {} : { usage: event.usage }),
      ...(event.cost_usd === undefined ? {} : { cost: event.cost_usd }),
      ...(event.retry_in === undefined ? {} : { retryInMs: event.retry_in }),
    };
  }
}

/** Whether a turn ended because its process ended or because a person stopped it. */
export const isInterruption = ({ code }: ErrorJson): boolean =>
  code === TURN_CUT_SHORT || code === TURN_BROKEN_OFF || code === 'cancelled';

/** The tag for an event on the bar of its turn, if the model wrote one. */
export function tagOf(turn: TurnRow, event: SessionEvent): Tag | undefined {
  const { seq, at } = event;
  switch (event.type) {
    case 'thought':
      return { kind: 'thought', seq, at, label: cut(event.text) };
    case 'action.declared':
      return { kind: 'action', seq, at, label: `${event.action.name} ${event.action.id}` };
    case 'metadata.changed':
      return event.by === 'model'
        ? { kind: 'metadata', seq, at, label: cut(Object.keys(event.changes).join(', ')) || 'as before' }
        : undefined;
    case 'response':
      // A response is logged when it is known whether it is final. It was said with the last words before.
      return {
        kind: 'response',
        seq,
        at: turn.end === undefined ? at : saidAt(turn),
        label: cut(event.text),
      };
    case 'fault':
      return { kind: 'fault', seq, at: Math.min(at, turn.end?.at ?? at), label: cut(event.message) };
    default:
      return undefined;
  }
}

const saidAt = ({ lastOutput, end, at }: TurnRow): number => lastOutput?.at ?? end?.at ?? at;

const cut = (text: string): string => (text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL)}…` : text);
