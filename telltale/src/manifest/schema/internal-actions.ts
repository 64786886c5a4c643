import { z } from 'zod';
import { closed } from './closed.ts';
import { flag } from './numbers.ts';

const INTERNAL_ACTIONS = [
  ...([
    'add_context_feed',
    'update_context_feed',
    'remove_context_feed',
    'list_context_feeds',
    'read_context_feed',
  ] as const),
  ...([
    'read_artifact',
    'write_artifact',
    'rollback_artifact',
    'query_knowledge_graph',
    'update_knowledge_graph',
  ] as const),
  ...(['set_variable', 'delete_variable', 'list_actions', 'cancel_action'] as const),
  ...(['read_output', 'rollback', 'complete_step', 'handoff'] as const),
] as const;

const internalAction = z.enum(INTERNAL_ACTIONS).describe('An internal action.');

export const internalActions = closed(
  {
    title: '"internal_actions"',
    description: "Actions on the agent's own environment.",
    slips: {
      allowed: 'It is "allowed_actions".',
      blocked: 'It is "blocked_actions".',
      allow: 'It is "allowed_actions".',
      deny: 'It is "blocked_actions".',
    },
  },
  {
    enabled: flag('false: none at all.').default(true),
    allowed_actions: z.array(internalAction).optional().describe('Only these; all if absent.'),
    blocked_actions: z.array(internalAction).prefault([]).describe('Not these.'),
  },
);
