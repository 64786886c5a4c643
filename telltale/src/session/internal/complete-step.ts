import { COMPLETE_STEP } from '../../events/action.ts';
import { claimWithOurNames } from '../../workflows/guided/check-claim.ts';
import type { Definition } from './definition.ts';

export const completeStep: Definition = {
  name: COMPLETE_STEP,
  description: 'Completes the current step, after running actions have ended.',
  idempotent: true, // it only says something, and says it once
  timeoutMs: Number.POSITIVE_INFINITY, // it waits for others, which have limits of their own
  parameters: {
    type: 'object',
    properties: {
      notes: {
        type: 'string',
        description: 'What you did and what came of it, in at least 50 characters of your own words.',
      },
      context_updates: { type: 'object', description: 'Values the step asks for.' },
      evidence: {
        type: 'array',
        items: { type: 'string' },
        description: 'Ids of actions that prove it.',
      },
      artifacts: { type: 'array', items: {}, description: 'What the step produced, besides notes.' },
    },
    required: ['notes'],
    additionalProperties: false,
  },
  underOurNames: claimWithOurNames,
  run: (input, { completeStep: complete }, own, signal) => complete(input, own, signal),
};
