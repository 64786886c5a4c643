import { ITS_TURN } from '../../events/run-event.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { HandGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import type { RunWalkEnd } from './drive-run.ts';
import type { HeldRun } from './open-run.ts';

/** Whoever's end lets a run go on may die before it says so: it looks itself, each time after twice as long. */
const FIRST_TURN_LOOK_MS = 60_000;
const LAST_TURN_LOOK_MS = 1_800_000;

/** Where it is not its turn. One that is to be ended needs none. */
export async function waitForTurn(
  { turns, clock }: { readonly turns: Turns; readonly clock: Clock },
  gate: HandGate,
  { journal: { state } }: HeldRun,
): Promise<RunWalkEnd | undefined> {
  if (state.cancelling !== undefined || (await turns.take(gate, state.id)) === 'in') return undefined;
  const waited = clock.now() - state.startedAt;
  const ms = Math.min(Math.max(waited, FIRST_TURN_LOOK_MS), LAST_TURN_LOOK_MS);
  return { kind: 'parked', for: ITS_TURN, due: clock.now() + ms };
}
