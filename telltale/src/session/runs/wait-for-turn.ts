import { turnBehind } from '../../events/run-event.ts';
import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { HandGate } from '../outside/hand-gate.ts';
import { REPLACED, type Turns, type TurnTaken } from '../outside/turns.ts';
import type { RunWalkEnd } from './drive-run.ts';
import type { HeldRun } from './open-run.ts';

/** Whoever's end lets a run go on may die before it says so: it looks itself, each time after twice as long. */
const FIRST_LOOK_MS = 60_000;
const LAST_LOOK_MS = 1_800_000;
/** A store that cannot say is asked again after that. */
const RETRY_MS = 10_000;

/** Where it is not its turn. One that has begun has had it, and one that is to be ended needs none. */
export async function waitForTurn(
  { turns, clock }: { readonly turns: Turns; readonly clock: Clock },
  gate: HandGate,
  { journal: { state } }: HeldRun,
): Promise<RunWalkEnd | undefined> {
  if (state.cancelling !== undefined || state.steps.size > 0) return undefined;
  const now = clock.now();
  const due = now + Math.min(Math.max(now - state.startedAt, FIRST_LOOK_MS), LAST_LOOK_MS);
  let taken: TurnTaken;
  try {
    taken = await turns.take(gate, state.id, state.origin.session?.id);
  } catch (thrown) {
    if (!toRuntimeError(thrown).retryable) throw thrown;
    return { kind: 'parked', for: turnBehind('whoever has it'), due: now + RETRY_MS };
  }
  if (state.cancelling !== undefined || taken.kind === 'in') return undefined;
  if (taken.kind === 'stuck') return { kind: 'failed', error: taken.error.toJSON() };
  if (taken.kind === 'dropped') return { kind: 'cancelled', reason: REPLACED, by: 'trigger' };
  return { kind: 'parked', for: turnBehind(taken.behind), due };
}
