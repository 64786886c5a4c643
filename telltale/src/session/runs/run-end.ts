import type { RunState, RunStatus } from '../../events/run-state.ts';
import { usageOf } from '../../events/usage-of.ts';
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

function usedBy({ usage, charged }: RunState): RunUsage | undefined {
  const { input, output, cost_usd } = usage;
  return input + output + cost_usd + charged === 0 ? undefined : { ...usageOf(usage), cost_usd, charged };
}
