import type { LeafCall } from '../leaf.ts';
import type { LeafContext } from '../steps/leaf-edges.ts';
import { decideReport, type Next, type Reported } from './decide-report.ts';
import { escalate } from './escalate.ts';
import type { TaskReport } from './task.ts';
import { taskLog } from './task-log.ts';
import type { JudgedWork, Verifier } from './verify/verdict.ts';
import { verifyWork } from './verify/verify-work.ts';

export type WorkReport = Exclude<TaskReport, { readonly kind: 'failed' }>;
export type Settled = Exclude<Next, { readonly kind: 'verify' | 'ask' }>;

/** Runs what takes a worker's or a verifier's time. */
export type Timed = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export interface JudgeDeps {
  readonly verify: Verifier | undefined;
  readonly call: LeafCall;
  readonly context: LeafContext;
  readonly timed: Timed;
}

/** What is to be done about a report, once its verifier and whoever has to be asked have said so. */
export async function judgeReport(report: WorkReport, deps: JudgeDeps): Promise<Settled> {
  const { verify, call, context, timed } = deps;
  call.signal.throwIfAborted();
  record(report, deps);
  const next = decideReport(report, verify, taskLog(context.journal.state, call.address));
  if (next.kind === 'verify' && verify !== undefined) {
    const verdict = await timed((signal) =>
      verifyWork(verify, judgedOf(report, call), report.nth, { ...call, signal }, context),
    );
    call.signal.throwIfAborted();
    context.journal.append({ type: 'verify', ...verdict }, call.cause);
  }
  return settle(report, deps);
}

/** As `judgeReport`, of a report that has its verdict or needs none: from the log, whether or not its worker is there. */
export async function settle(reported: Reported, { verify, call, context }: JudgeDeps): Promise<Settled> {
  const log = () => taskLog(context.journal.state, call.address);
  let next = decideReport(reported, verify, log());
  if (next.kind === 'ask') {
    await escalate(reported, next.because, log(), call, context);
    next = decideReport(reported, verify, log());
  }
  if (next.kind === 'ask' || next.kind === 'verify') throw unsettled(reported, call);
  return next;
}

/** A report is put on the log once. A turn that is over has nothing to say but what is judged of it. */
function record(report: WorkReport, { call, context }: JudgeDeps): void {
  const { address: step, attempt } = call;
  const { cause = call.cause } = report;
  const { guided } = taskLog(context.journal.state, step);
  const { nth, by } = report;
  switch (report.kind) {
    case 'claimed': {
      if (guided.claims.some((each) => each.nth === nth)) return;
      const { notes, context_updates: updates, artifacts, evidence, turns } = report;
      context.journal.append(
        {
          type: 'step.claimed',
          step,
          attempt,
          nth,
          by,
          notes,
          ...(Object.keys(updates).length === 0 ? {} : { context_updates: updates }),
          ...(artifacts.length === 0 ? {} : { artifacts }),
          ...(evidence.length === 0 ? {} : { evidence }),
          turns,
        },
        cause,
      );
      return;
    }
    case 'stuck':
      if (!guided.stuck.some((each) => each.nth === nth))
        context.journal.append({ type: 'step.stuck', step, attempt, nth, by, why: report.why }, cause);
      return;
    case 'turn':
      return;
  }
}

function judgedOf(report: WorkReport, { input }: LeafCall): JudgedWork {
  const prompt = String(input.prompt);
  const { turns } = report;
  if (report.kind !== 'claimed')
    return { when: 'turn', prompt, turns, actions: report.kind === 'turn' ? report.work : [] };
  const { notes, context_updates, artifacts, evidence, work } = report;
  return { when: 'completion', prompt, notes, context_updates, artifacts, evidence, turns, actions: work };
}

const unsettled = ({ nth }: Reported, { address }: LeafCall) =>
  new Error(`Nothing was settled about the report ${nth} of ${address}.`);
