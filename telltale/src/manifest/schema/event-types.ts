import { z } from 'zod';

/** The durable events of the log (runtime.md); `custom` ones are told apart by `match: { name }`. */
const EVENT_TYPES = [
  ...[
    'session.started',
    'session.completed',
    'session.failed',
    'session.stalled',
    'session.cancelled',
    'session.resumed',
  ],
  ...[
    'session.waiting',
    'turn.started',
    'turn.completed',
    'turn.failed',
    'model.output',
    'thought',
    'text',
    'response',
  ],
  ...['message.received', 'audit', 'action.declared', 'action.started', 'action.completed', 'action.failed'],
  ...['action.skipped', 'action.retrying', 'action.cancelled', 'action.interrupted', 'action.compensated'],
  ...['metadata.changed', 'metadata.rejected', 'variable.changed', 'fault', 'if.decided', 'budget.charged'],
  ...[
    'prompt.compacted',
    'hook.ran',
    'component.injected',
    'artifact.written',
    'timer.set',
    'timer.fired',
    'handoff',
    'handoff.requested',
    'custom',
  ],
  ...['feed.updated', 'feed.failed', 'feed.added', 'feed.removed', 'trigger.fired', 'trigger.suppressed'],
  ...[
    'workflow.started',
    'workflow.completed',
    'workflow.failed',
    'workflow.cancelled',
    'workflow.asked',
    'state.entered',
  ],
  ...[
    'step.started',
    'step.completed',
    'step.failed',
    'step.skipped',
    'invoke',
    'verify',
    'review.requested',
  ],
  ...['review.resolved', 'review.voided'],
];

/** What a sub-agent's log copies to its parent's. */
const CHILD_TYPES = EVENT_TYPES.map((type) => `child.${type}`);

/** An event that can set something off: a durable one. Live deltas are not on the log, so they cannot. */
export const eventType = (description: string) =>
  z.enum([...EVENT_TYPES, ...CHILD_TYPES]).describe(description);
