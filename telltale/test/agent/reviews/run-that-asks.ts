import { createRunReviews } from '../../../src/agent/runs/walk-run.ts';
import { createRunLog } from '../../../src/engine/run-log.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { ApprovalRequest } from '../../../src/log/run-event.ts';
import { emptyRun } from '../../../src/log/run-state.ts';
import type { Store } from '../../../src/store/store.ts';

/** A run by hand, of the workflow `flow`, whose step `build` asks whatever is given. */
export async function runThatAsks(store: Store, id: string, requests: readonly ApprovalRequest[]) {
  const clock = createSystemClock();
  const head = { kind: 'run', name: 'flow', status: 'running', title: '' } as const;
  const writer = await store.create(id, head);
  const journal = createRunLog({ writer, state: emptyRun(), clock, onLost: () => undefined });
  journal.append({
    type: 'workflow.started',
    workflow: 'flow',
    input: {},
    vars: {},
    manifest: { path: 'agent.yml', hash: 'h', agent: 'tester' },
    origin: { session: { id: 'ses_9', seq: 1 }, chain: ['flow'], agents: ['tester'] },
  });
  const cause = journal.append({ type: 'step.started', step: 'build', attempt: 1, repeatable: true });
  const at = { step: 'build', attempt: 1, nth: 1 };
  journal.append({
    type: 'step.claimed',
    ...at,
    by: 'ses_9',
    turns: 3,
    notes: 'Built it and ran the tests.\nTwo are red.',
  });
  journal.append({
    type: 'verify',
    ...at,
    by: 'model fast',
    assessment: 'retry',
    confidence: 'high',
    ms: 5,
    reasoning: 'Red tests are no success.',
    instruction: 'Mend them.',
  });
  const plan = [{ action: 'deploy', parameters: { to: 'prod' }, expect: 'result.ok' }];
  journal.append({ type: 'plan.made', ...at, plan });
  const reviews = createRunReviews(journal, clock, () => false);
  for (const request of requests) reviews.open(request, cause);
  await journal.flushed();
  await writer.release();
}

/** A question of the step `build`. */
export const request = (
  kind: ApprovalRequest['kind'],
  review: string,
  options: readonly string[],
): ApprovalRequest => ({
  review,
  step: 'build',
  prompt: `What of ${kind}?`,
  options,
  ...(kind === undefined ? {} : { kind }),
});
