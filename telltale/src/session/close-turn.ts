import { weighTokens } from '../kernel/estimate-tokens.ts';
import type { SessionContext } from './context.ts';
import { costWith, countUsage } from './cost.ts';

/** Writes down that a turn which was cut off from outside is over; nothing where none is open. */
export function closeTurn(
  { log, state, model, asker }: SessionContext,
  promptTokens: number,
  code: string,
  message: string,
): void {
  if (!state.turnOpen) return;
  const unwritten = weighTokens(asker?.spoken.pending ?? '') + (asker?.streamed?.reasoned ?? 0);
  const usage = countUsage(state, promptTokens, unwritten);
  const error = { code, message, retryable: false };
  log.append({ type: 'turn.failed', error, usage, cost_usd: costWith(model, usage) });
}
