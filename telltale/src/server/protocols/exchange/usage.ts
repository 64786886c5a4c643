import type { ObservedEvent } from '../../../events/event.ts';

/** What an exchange used, its sub-agents included. */
export interface ExchangeUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cost_usd: number;
  readonly turns: number;
}

export const NO_USAGE: ExchangeUsage = { input: 0, output: 0, cached: 0, cost_usd: 0, turns: 0 };

export function addUsage(before: ExchangeUsage, event: ObservedEvent): ExchangeUsage {
  const used = usedBy(event);
  if (used === undefined) return before;
  return {
    input: before.input + (used.usage?.input ?? 0),
    output: before.output + (used.usage?.output ?? 0),
    cached: before.cached + (used.usage?.cached ?? 0),
    cost_usd: before.cost_usd + (used.cost_usd ?? 0),
    turns: before.turns + (event.type === 'turn.completed' ? 1 : 0),
  };
}

function usedBy(event: ObservedEvent) {
  switch (event.type) {
    case 'turn.completed':
    case 'turn.failed':
    case 'prompt.compacted':
    case 'child.usage':
      return event;
    case 'child.turn.completed':
    case 'child.turn.failed':
      return event.event;
    default:
      return undefined;
  }
}
