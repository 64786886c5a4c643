import { closed } from './closed.ts';
import { amount, byteSize, count, positiveDuration } from './values.ts';

export const limits = closed(
  {
    title: '"limits"',
    description: 'Where a session ends by itself.',
    slips: {
      max_turns: 'In "limits", use "turns".',
      max_iterations: 'In "limits", use "turns".',
      iterations: 'In "limits", use "turns".',
      max_tokens: 'In "limits", use "tokens".',
      max_cost: 'In "limits", use "cost_usd".',
      cost: 'In "limits", use "cost_usd".',
      max_handoffs: 'In "limits", use "handoffs".',
      rounds: 'In "limits", use "handoffs".',
      timeout: 'In "limits", use "wall" for the whole session and "action_timeout" for each action.',
      timeout_seconds: 'In "limits", use "wall" for the whole session and "action_timeout" for each action.',
      max_parallel: 'In "limits", use "parallel_actions".',
      concurrency: 'In "limits", use "parallel_actions".',
      time_to_first_token: 'In "limits", use "first_token".',
      first_token_timeout: 'In "limits", use "first_token".',
      feeds: 'In "limits", use "feed_deadline".',
      deadline: 'In "limits", use "feed_deadline".',
      results: 'In "limits", use "result".',
      max_result: 'In "limits", use "result".',
      output: 'In "limits", use "result".',
      settle_timeout: 'In "limits", use "settle".',
    },
  },
  {
    turns: count('Turns of the model.').default(50),
    tokens: count('Tokens in and out, all turns together. No limit if absent.').optional(),
    cost_usd: amount('Cost in US dollars. No limit if absent.').optional(),
    wall: positiveDuration('Time from start to end. No limit if absent.').optional(),
    handoffs: count(
      'How often the conversation moves from one agent to another before it waits for a person.',
    ).default(20),
    parallel_actions: count('Actions that run side by side.').default(16),
    action_timeout: positiveDuration('Time for each try of an action whose target sets none.').prefault(
      '300s',
    ),
    first_token: positiveDuration(
      'Time until the first word of an answer; then the request is made again.',
    ).prefault('10m'),
    settle: positiveDuration(
      'Time that a turn waits for its actions at its end; what has not ended by then goes on in the background.',
    ).prefault('5m'),
    feed_deadline: positiveDuration(
      'Time that a turn waits for its feeds; those that are later come with the next.',
    ).prefault('5s'),
    result: byteSize(
      'Characters of one result that the model is shown; of more, the beginning and the end. At least 512.',
    ).prefault('32KiB'),
  },
);

export const budget = closed(
  {
    title: '"budget"',
    description: 'What decision artifacts see as balance; at 0 the session ends as failed (limit_budget).',
    slips: {
      cost_usd: 'For a limit in dollars, use "limits.cost_usd". A budget is counted in units of your own.',
      tokens: 'For a limit on tokens, use "limits.tokens".',
    },
  },
  {
    balance: amount('The balance at the start.'),
    costs: closed(
      { title: '"budget.costs"', description: 'What each thing costs.' },
      {
        turn: amount('Each turn.').default(1),
        action: amount('Each action.').default(0),
        artifact: amount('Each call of a decision artifact.').default(0.1),
      },
    ).prefault({}),
  },
);
