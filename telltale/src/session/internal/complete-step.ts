import { COMPLETE_STEP } from '../../events/action.ts';
import type { Definition } from './definition.ts';

export const completeStep: Definition = {
  name: COMPLETE_STEP,
  description:
    'Ends the step in hand, once what runs has ended. "notes": what you did and what came of it, at least 50 characters, in your own words. "context_updates", "evidence": as the step asks. Nothing you call after it in the same turn is run.',
  idempotent: true, // it only says something, and says it once
  timeoutMs: Number.POSITIVE_INFINITY, // it waits for others, which have limits of their own
  parameters: {
    type: 'object',
    properties: {
      notes: { type: 'string', description: 'What was done and what came of it.' },
      context_updates: { type: 'object', description: 'Values that the step asks for, by name.' },
      evidence: {
        type: 'array',
        items: { type: 'string' },
        description: 'Ids of actions of this step that prove it.',
      },
      artifacts: { type: 'array', description: 'What came of it, where that is more than notes.' },
    },
    required: ['notes'],
    additionalProperties: false,
  },
  run: (input, { completeStep: complete }, own, signal) => complete(input, own, signal),
};
