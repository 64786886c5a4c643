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
  const usage = countUsage(state, promptTokens, asker?.streamed?.reasoned);
  const error = { code, message, retryable: false };
  log.append({ type: 'turn.failed', error, usage, cost_usd: costWith(model, usage) });
}
