import type { RunState, RunStatus } from '../../events/run-state.ts';
import type { RunResult } from './run-types.ts';

export const isOver = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

export function resultOf({ id, status, output, error, waiting }: RunState): RunResult {
  return {
    run: id,
    status: status === 'running' ? 'interrupted' : status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
    ...(waiting === undefined ? {} : { waiting }),
  };
}
