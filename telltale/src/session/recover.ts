import { TURN_CUT_SHORT } from '../events/reduce.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import type { SessionContext } from './context.ts';
import { costWith } from './cost.ts';
import { type Reheard, rehear } from './turn/rehear.ts';

/**
 * Takes a folded session up where its log ends. What had been started without a result is run again or written down as
 * interrupted; the turn that was open is closed. Returns what the last turn said and nobody has decided on yet.
 */
export function recover(context: SessionContext): Reheard | undefined {
  const { state, log, scheduler, model } = context;
  scheduler.restore(state);
  if (state.turn === 0) return undefined;
  if (!state.turnOpen) {
    scheduler.turnEnded('well');
    return lastTurnBroke(context) ? undefined : rehear(context);
  }
  const heard = rehear(context);
  const said = state.turns.at(-1)?.output ?? '';
  const usage = { input: 0, output: estimateTokens(said), estimated: true } as const;
  const cost_usd = costWith(model, usage);
  if (heard.final) {
    // Its final response had been closed: the rest of the generation would have been cancelled anyway.
    log.append({ type: 'turn.completed', usage, cost_usd, ms: 0, first_token_ms: 0, finish: 'cut' });
    scheduler.turnEnded('well');
    return heard;
  }
  for (const id of heard.lost)
    log.append({
      type: 'fault',
      code: 'not_run',
      message: `The action "${id}" of your last message was not run: the runtime was restarted before it could be. Ask for it again under another id if it is still needed.`,
    });
  const error = {
    code: TURN_CUT_SHORT,
    message: 'The runtime was restarted while you were speaking.',
    retryable: true,
  };
  log.append({ type: 'turn.failed', error, retry_in: 0, usage, cost_usd });
  scheduler.turnEnded('broken');
  return undefined;
}

/** Whether the last turn failed: then there is nothing in it to decide on. */
const lastTurnBroke = ({ state }: SessionContext): boolean => state.news.broken !== undefined;
