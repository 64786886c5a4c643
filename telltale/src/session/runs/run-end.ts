import type { RunState, RunStatus } from '../../events/run-state.ts';
import type { RunResult, RunUsage } from './run-types.ts';

export const isOver = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

export function resultOf(state: RunState): RunResult {
  const { id, status, output, error, waiting } = state;
  const used = usedBy(state);
  return {
    run: id,
    status: status === 'running' ? 'interrupted' : status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
    ...(waiting === undefined ? {} : { waiting }),
    ...(used === undefined ? {} : { used }),
  };
}

function usedBy({ usage: { input, output, cost_usd }, charged }: RunState): RunUsage | undefined {
  return input + output + cost_usd + charged === 0 ? undefined : { input, output, cost_usd, charged };
}
