import type { RunJournal } from '../../engine/run-journal.ts';
import type { Cause } from '../../events/event.ts';
import { usageOf } from '../../events/usage-of.ts';
import type { SessionLog } from '../session-log.ts';
import type { RunUsage } from './run-types.ts';

/**
 * What a workflow used that an action calls counts for the session, as what a called agent used does: else its limits and
 * its balance would hold for nothing that it has workflows do. Once, however often its end is heard of.
 */
export function payAsSession(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { state } = log;
  if (state.children.some((cursor) => cursor.action === action && cursor.session === run)) return;
  charge(log, action, run, used);
}

/** The same for a run that a feed is made by; no action stands for it. Its end is told of once (`pay-for-unpaid.ts`). */
export const payForFeed = (log: SessionLog, feed: string, run: string, used: RunUsage): void =>
  charge(log, `feed:${feed}`, run, used);

function charge(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { cost_usd, charged } = used;
  log.append({
    type: 'child.usage',
    action,
    child: { session: run, seq: 0 },
    ...(isPaid(used) ? { usage: usageOf(used), cost_usd } : {}),
    ...(charged === 0 ? {} : { charged }),
  });
}

/** The same for a run whose step calls another. Its log names that as the worker: who counts it counts it there. */
export function payAsRun(
  journal: RunJournal,
  called: { readonly run: string; readonly workflow: string; readonly step: string; readonly cause: Cause },
  used: RunUsage,
): void {
  const { run, workflow, step, cause } = called;
  const { state } = journal;
  if (state.ledUsage.has(run)) return;
  const { cost_usd, charged } = used;
  journal.append(
    {
      type: 'model.used',
      step,
      model: `workflow ${workflow}`,
      usage: usageOf(used),
      cost_usd,
      worker: run,
    },
    cause,
  );
  if (charged === 0 || state.balance === undefined) return;
  journal.append(
    { type: 'budget.charged', what: 'artifact', amount: charged, balance: state.balance - charged },
    cause,
  );
}

const isPaid = ({ input, output, cost_usd }: RunUsage): boolean => input + output + cost_usd > 0;
