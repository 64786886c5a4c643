import type { EventType } from '../../events/event.ts';

/** A record, so that a type which is missing here does not compile. */
const TYPES: Readonly<Record<EventType, true>> = {
  'session.started': true,
  'session.completed': true,
  'session.failed': true,
  'session.stalled': true,
  'session.cancelled': true,
  'session.resumed': true,
  'session.waiting': true,
  'turn.started': true,
  'turn.completed': true,
  'turn.failed': true,
  'model.output': true,
  thought: true,
  text: true,
  response: true,
  'message.received': true,
  audit: true,
  'action.declared': true,
  'action.started': true,
  'action.completed': true,
  'action.failed': true,
  'action.skipped': true,
  'action.retrying': true,
  'action.cancelled': true,
  'action.interrupted': true,
  'action.compensated': true,
  'metadata.changed': true,
  'metadata.rejected': true,
  'variable.changed': true,
  fault: true,
  'if.decided': true,
  'budget.charged': true,
  'prompt.compacted': true,
  'timer.set': true,
  'timer.fired': true,
  custom: true,
};

/** Every type of event that is written. */
export const EVENT_TYPES = Object.keys(TYPES) as readonly EventType[];
