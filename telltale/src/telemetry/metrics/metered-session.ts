import type { EventOf } from '../../events/event.ts';
import type { SessionStatus } from '../../events/state.ts';
import type { Usage } from '../../events/turn-event.ts';
import { OPERATION } from '../conventions.ts';
import type { ModelName } from '../model-name.ts';
import type { Instruments } from './instruments.ts';
import { endOf, type MeteredStream, seconds } from './metered-streams.ts';
import type { StateSpend } from './state-spend.ts';

interface MeteredAction {
  readonly kind: string;
  readonly name: string;
  startedAt?: number;
}

/** What is kept of a session until it ends. */
export interface MeteredSession extends MeteredStream {
  readonly agent: string;
  readonly model: ModelName;
  readonly spend: StateSpend;
  status: SessionStatus;
  /** Whether it is a chat that waits for its next message. */
  idle: boolean;
  /** The time of its last event. */
  at: number;
  turnAt: number | undefined;
  /** When actions started while the model was speaking. */
  early: number[];
  readonly actions: Map<string, MeteredAction>;
}

/** In labels, what nobody here knows. */
export const NOT_TOLD = 'unknown';

export const NO_USAGE: Usage = { input: 0, output: 0 };

export function use(meters: Instruments, own: MeteredSession, { input, output }: Usage, cost: number): void {
  own.spend.used(input, output, cost);
  if (cost !== 0) meters.cost.of(own.agent, '').value += cost;
}

export function endTurn(
  meters: Instruments,
  own: MeteredSession,
  event: EventOf<'turn.completed'> | EventOf<'turn.failed'>,
): void {
  const { provider, model } = own.model;
  const isWell = event.type === 'turn.completed';
  const { usage = NO_USAGE, cost_usd = 0 } = event;
  meters.turns.of(own.agent, isWell ? 'completed' : 'failed').value++;
  const ms = isWell ? event.ms : event.at - (own.turnAt ?? event.at);
  const error = isWell ? '' : event.error.code;
  meters.callDuration.record(seconds(ms), OPERATION.chat, provider, model, error);
  if (isWell) {
    meters.firstToken.record(seconds(event.first_token_ms), OPERATION.chat, provider, model);
    for (const at of own.early) meters.actionLead.record(seconds(event.at - at), own.agent);
  }
  if (event.usage !== undefined) {
    meters.tokens.record(usage.input, OPERATION.chat, provider, model, 'input');
    meters.tokens.record(usage.output, OPERATION.chat, provider, model, 'output');
  }
  use(meters, own, usage, cost_usd);
  if (isWell) own.spend.turnEnded();
  own.turnAt = undefined;
  own.early = [];
}

type EndedAction = EventOf<
  'action.completed' | 'action.failed' | 'action.skipped' | 'action.cancelled' | 'action.interrupted'
>;

/** Whether it was open. */
export function endAction(meters: Instruments, own: MeteredSession, event: EndedAction): boolean {
  const { id, at } = event;
  const action = own.actions.get(id);
  if (action === undefined) return false;
  own.actions.delete(id);
  // What is not there is called whatever the model likes to call it.
  const isUnknown = event.type === 'action.failed' && event.error.code === 'target_unknown';
  const target = isUnknown ? NOT_TOLD : action.name;
  meters.actions.of(own.agent, action.kind, target, endOf(event.type)).value++;
  if (action.startedAt !== undefined)
    meters.actionDuration.record(seconds(at - action.startedAt), action.kind, target);
  return true;
}
