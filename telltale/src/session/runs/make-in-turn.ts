import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { HandGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import type { NewRun } from './new-run.ts';
import { createRun, type HeldRun } from './open-run.ts';
import type { RunsDeps } from './run-edges.ts';

/**
 * Makes a run that somebody asked for, unless its workflow is busy. One that is there is not asked for again: its making
 * says so.
 */
export async function makeInTurn(
  deps: RunsDeps & { readonly turns: Turns },
  gate: HandGate | undefined,
  run: NewRun,
): Promise<HeldRun> {
  if (gate === undefined || (await isThere(deps, run.id))) return createRun(deps, run);
  await deps.turns.ask(gate, run.id, run.origin.session?.id);
  deps.crashPoint?.('hand:asked');
  try {
    return await createRun(deps, run);
  } catch (thrown) {
    // One that is there has its turn, or loses it with its end.
    if (toRuntimeError(thrown).code !== 'stream_exists')
      await deps.turns.leave(gate, run.id).catch(deps.onError);
    throw thrown;
  }
}

async function isThere({ store }: Pick<RunsDeps, 'store'>, run: string): Promise<boolean> {
  const info = await store.info(run);
  return info !== undefined && info.head > 0;
}
