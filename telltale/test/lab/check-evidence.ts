import { checkEffects } from './check-effects.ts';
import { checkLogs } from './check-logs.ts';
import { checkMessages } from './check-messages.ts';
import { createVerdict, type Evidence, type Verdict } from './evidence.ts';

/** Holds everything that is known against every invariant. */
export function checkEvidence(evidence: Evidence): Verdict {
  const verdict = createVerdict();
  checkLogs(evidence, verdict);
  checkEffects(evidence, verdict);
  checkMessages(evidence, verdict);
  return verdict;
}
