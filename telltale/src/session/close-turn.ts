import { weighTokens } from '../kernel/estimate-tokens.ts';
import { NONE } from '../kernel/grow.ts';
import type { SessionContext } from './context.ts';
import { costWith, countUsage } from './cost.ts';

/** Writes down that a turn which was cut off from outside is over; nothing where none is open. */
export function closeTurn(
  context: SessionContext,
  promptTokens: number,
  code: string,
  message: string,
): void {
  const { log, state, model, asker, scheduler } = context;
  if (!state.turnOpen) return;
  const unwritten = weighTokens(asker?.spoken.pending ?? '') + (asker?.streamed?.reasoned ?? 0);
  const usage = countUsage(state, promptTokens, unwritten);
  const error = { code, message, retryable: false };
  const groups = asker?.groups ?? NONE;
  const within = groups.length === 0 ? {} : { groups };
  log.append({ type: 'turn.failed', error, ...within, usage, cost_usd: costWith(model, usage) });
  scheduler.spoil(groups);
}
