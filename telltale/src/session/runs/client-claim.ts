import type { RunJournal } from '../../engine/run-journal.ts';
import { openQuestions } from '../../events/fold-client.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ClaimMessage } from './client-types.ts';

/** Puts what a client sent onto the run's log. False where it is no claim, or one that nobody waits for. */
export function takeClaim(journal: RunJournal, by: string, body: Json, consumed: readonly number[]): boolean {
  const claim = readClaim(body);
  if (claim === undefined) return false;
  const { step, attempt, nth } = claim;
  const isOpen = openQuestions(journal.state).some(
    (task) => task.step === step && task.attempt === attempt && task.nth === nth,
  );
  if (!isOpen) return false;
  // A message comes from outside the log: it is a beginning of its own.
  const outside = { stream: journal.state.id, seq: 0, depth: 0 };
  journal.append({ type: 'client.claimed', ...claim, by }, outside, { consumed });
  return true;
}

function readClaim(body: Json): ClaimMessage | undefined {
  const { step, attempt, nth, notes, context_updates, artifacts } = (body ?? {}) as JsonObject;
  if (typeof step !== 'string' || typeof attempt !== 'number' || typeof nth !== 'number') return undefined;
  if (typeof notes !== 'string' || !Array.isArray(artifacts)) return undefined;
  return { step, attempt, nth, notes, artifacts, context_updates: (context_updates ?? {}) as JsonObject };
}
