import type { ObservedEvent } from '../../../events/event.ts';
import type { JsonObject } from '../../../kernel/json.ts';

/** What happened beside speech, actions and metadata that people want to see. */
const NEWS: ReadonlySet<ObservedEvent['type']> = new Set([
  'fault',
  'turn.failed',
  'metadata.rejected',
  'variable.changed',
  'action.retrying',
  'action.progress',
  'review.requested',
  'review.resolved',
  'review.voided',
  'trigger.fired',
  'trigger.suppressed',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
  'feed.failed',
  'budget.charged',
  'artifact.written',
  'handoff',
  'custom',
]);

/** The event as the log has it, where it is such news. */
export function newsOf(
  event: ObservedEvent,
): { readonly type: string; readonly data: JsonObject } | undefined {
  if (!NEWS.has(event.type)) return undefined;
  const { type, session: _, ...data } = event;
  return { type, data: data as unknown as JsonObject }; // what is on the log is JSON by its own definition
}
