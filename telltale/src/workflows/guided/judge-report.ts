import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { VerifyRecord } from '../../log/run-event.ts';
import type { ApprovalState, GuidedState, RunState } from '../../log/run-state.ts';
import { clip } from '../../prompt/text.ts';
import type { StepAttempt } from '../step-executor.ts';
import { askPerson } from '../steps/ask-person.ts';
import type { StepContext } from '../steps/step-deps.ts';
import type { TaskReport } from './task.ts';
import type { JudgedWork, Verifier } from './verify/verify-work.ts';
import { verifyWork } from './verify/verify-work.ts';

export type WorkReport = Exclude<TaskReport, { readonly kind: 'failed' }>;
export type SettledReport = Exclude<ReportDecision, { readonly kind: 'verify' | 'ask' }>;

/** Runs work of a worker or verifier within the task's time. */
export type Timed = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export interface JudgeDeps {
  readonly verify: Verifier | undefined;
  readonly call: StepAttempt;
  readonly context: StepContext;
  readonly timed: Timed;
}

/** Decides what to do about a report, after asking its verifier and a person if needed. */
export async function judgeReport(report: WorkReport, deps: JudgeDeps): Promise<SettledReport> {
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

/** Like `judgeReport`, for a report that has its verdict or needs none. It only needs the log. */
export async function settle(
  reported: Reported,
  { verify, call, context }: JudgeDeps,
): Promise<SettledReport> {
  const log = () => taskLog(context.journal.state, call.address);
  let next = decideReport(reported, verify, log());
  if (next.kind === 'ask') {
    await escalate(reported, next.because, log(), call, context);
    next = decideReport(reported, verify, log());
  }
  if (next.kind === 'ask' || next.kind === 'verify') throw unsettled(reported, call);
  return next;
}

/** Records a report once. Of a turn only its verdict is recorded. */
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

function judgedOf(report: WorkReport, { input }: StepAttempt): JudgedWork {
  const prompt = String(input.prompt);
  const { turns } = report;
  if (report.kind !== 'claimed')
    return { when: 'turn', prompt, turns, actions: report.kind === 'turn' ? report.work : [] };
  const { notes, context_updates, artifacts, evidence, work } = report;
  return { when: 'completion', prompt, notes, context_updates, artifacts, evidence, turns, actions: work };
}

const unsettled = ({ nth }: Reported, { address }: StepAttempt) =>
  new Error(`Nothing was settled about the report ${nth} of ${address}.`);

const MAX_PROMPT = 2_000;
const MAX_NOTES = 4_000;

/**
 * Asks a person to decide what agent and verifier cannot settle, once per report, and waits for the answer,
 * which is on the log afterwards.
 */
export async function escalate(
  reported: Reported,
  because: string,
  { guided }: TaskLog,
  call: StepAttempt,
  context: StepContext,
): Promise<void> {
  const { nth } = reported;
  const claim = guided.claims.find((each) => each.nth === nth);
  const verdict = guided.verdicts.find((each) => each.nth === nth);
  const prompt = [
    `The step "${call.step.name}" needs a decision. ${because}`,
    `The step:\n${clip(String(call.input.prompt), MAX_PROMPT)}`,
    ...(claim === undefined ? [] : [`The agent's notes:\n${clip(claim.notes, MAX_NOTES)}`]),
    ...(verdict === undefined ? [] : [verdictText(verdict)]),
    WORDS[reported.kind],
  ].join('\n\n');
  const options = reported.kind === 'stuck' ? ['retry', 'fail'] : ['pass', 'retry', 'fail'];
  const word = await askPerson({ prompt, options, kind: 'escalation', nth }, call, context);
  if (word.answer === 'withdrawn') throw questionWithdrawn(call.step.name, word.note);
}

const WORDS: Readonly<Record<Reported['kind'], string>> = {
  claimed:
    'pass: it is done, and the run goes on. retry: the agent tries again, with your note as its instruction. fail: the step fails.',
  turn: 'pass: the agent goes on. retry: it goes on with your note as its instruction. fail: the step fails.',
  stuck: 'retry: the agent goes on, with your note as its instruction. fail: the step fails.',
};

function verdictText({ by, assessment, confidence, reasoning, instruction, fallback }: VerifyRecord): string {
  const sure = confidence === undefined ? '' : `, ${confidence} confidence`;
  return [
    `The verifier (${by}) says ${assessment}${sure}:`,
    reasoning,
    ...(instruction === undefined || instruction === reasoning ? [] : [`It asks for: ${instruction}`]),
    ...(fallback === undefined ? [] : [`(${fallback})`]),
  ].join('\n');
}

const because = (note: string | undefined): string => (note === undefined ? '.' : `: ${note}`);

/** A person refused to start the step. */
const notConfirmed = (step: string, by: string, note: string | undefined) =>
  new RuntimeError('rejected', `The step "${step}" was rejected by ${by} before it began${because(note)}`, {
    hint: 'With "on_error" or a "try" around it the run can go another way.',
  });

export const notVerified = (step: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'not_verified',
    `The step "${step}" is not done: its verifier did not accept it, and ${by} ended it${because(note)}`,
    { hint: 'Its log shows what the verifier said. "on_error" or a "try" around it can go another way.' },
  );

export const endedStuck = (step: string, why: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'stuck',
    `The agent came no further with the step "${step}" (${why.replace(/\.+$/, '')}), and ${by} ended it${because(note)}`,
    { hint: 'Say more exactly what is to be done, or give the agent what it lacks.' },
  );

const questionWithdrawn = (step: string, note: string | undefined) =>
  new RuntimeError('cancelled', `The question of the step "${step}" was withdrawn${because(note)}`);

export const tooManyReports = (step: string, limit: number) =>
  new RuntimeError('report_limit', `The work on the step "${step}" was reported ${limit} times.`, {
    hint: 'Give it "max_turns", or let its verifier judge at completion only.',
  });

/** The error that the worker ended with. */
export const workFailed = ({ code, message, hint, retryable, cause }: ErrorJson): RuntimeError =>
  new RuntimeError(code, message, { hint, retryable, cause: cause && workFailed(cause) });

const NOTHING: GuidedState = { claims: [], stuck: [], verdicts: [], plans: [] };

/** The records of a step's current attempt on the run's log. */
export function taskLog({ steps, reviews }: Pick<RunState, 'steps' | 'reviews'>, address: string): TaskLog {
  const step = steps.get(address);
  const began = step?.cause.seq ?? 0;
  return {
    guided: step?.guided ?? NOTHING,
    reviews: reviews.filter(
      ({ step: asker, kind, seq }) => asker === address && kind === 'escalation' && seq > began,
    ),
  };
}

/** Asks a person whether the step may start. Rejects if not. */
export async function confirm(prompt: string, call: StepAttempt, context: StepContext): Promise<void> {
  const { name } = call.step;
  const question = { prompt, options: ['approve', 'reject'], kind: 'confirm' } as const;
  const { answer, by, note } = await askPerson(question, call, context);
  if (answer === 'withdrawn') throw questionWithdrawn(name, note);
  if (answer !== 'approved') throw notConfirmed(name, by, note);
}

/** A report on a task, as recorded on the run's log. */
export type Reported =
  | { readonly kind: 'claimed'; readonly nth: number }
  | { readonly kind: 'turn'; readonly nth: number }
  | { readonly kind: 'stuck'; readonly nth: number; readonly why: string };

/** The records of a task attempt on the log. */
export interface TaskLog {
  readonly guided: GuidedState;
  /** The escalations of this attempt. */
  readonly reviews: readonly ApprovalState[];
}

/** What to do about a report. */
export type ReportDecision =
  | { readonly kind: 'verify' }
  /** A person has to decide. `because` is shown to them. */
  | { readonly kind: 'ask'; readonly because: string }
  /** For a claim the step is done. For a turn the work continues. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'again'; readonly text: string; readonly by: string }
  | { readonly kind: 'fail'; readonly by: string; readonly note?: string };

/**
 * Decides by the log alone, so that a restart gives the same decision. A report with a verdict is not
 * verified again, and one that a person has settled is not asked about again.
 */
export function decideReport(reported: Reported, verify: Verifier | undefined, log: TaskLog): ReportDecision {
  const { nth } = reported;
  const verdict = log.guided.verdicts.find((each) => each.nth === nth);
  const settled = log.reviews.find((each) => each.nth === nth && isAnswer(each));
  if (settled !== undefined) {
    const { choice, by = 'a person', note } = settled;
    if (choice === 'pass' && reported.kind !== 'stuck') return { kind: 'pass' };
    if (choice === 'retry')
      return { kind: 'again', text: note ?? verdict?.instruction ?? verdict?.reasoning ?? TRY_AGAIN, by };
    return { kind: 'fail', by, ...(note === undefined ? {} : { note }) };
  }
  if (reported.kind === 'stuck')
    return { kind: 'ask', because: `The agent comes no further: ${reported.why}` };
  if (verify === undefined || (reported.kind === 'turn' && verify.when !== 'turn')) return { kind: 'pass' };
  if (verdict === undefined) return { kind: 'verify' };
  switch (verdict.assessment) {
    case 'pass':
      return { kind: 'pass' };
    case 'escalate':
      return {
        kind: 'ask',
        because:
          verdict.fallback === undefined
            ? 'The verifier asks for a person.'
            : `The verifier gave no verdict: ${verdict.fallback}`,
      };
    case 'retry': {
      const told = retriesBefore(reported, log);
      if (told.count < allowed(verify, told.afterPerson))
        return { kind: 'again', text: verdict.instruction ?? verdict.reasoning, by: verdict.by };
      return {
        kind: 'ask',
        because: `The agent and the verifier disagree${after(told.count)}.`,
      };
    }
  }
}

const TRY_AGAIN = 'Do it again.';

/** A withdrawal by the runtime is not an answer. */
const isAnswer = ({ answer }: ApprovalState): boolean => answer !== undefined && answer !== 'withdrawn';

/** After a person's decision, they are asked again after one more attempt. */
const allowed = ({ max_retries: max }: Verifier, afterPerson: boolean): number =>
  afterPerson ? Math.min(1, max) : max;

/**
 * How often the agent was told to try again before this report, counted separately for claims and turns,
 * since a person's last decision on a verdict. For turns, a pass resets the count.
 */
function retriesBefore(
  { kind, nth }: Reported,
  { guided, reviews }: TaskLog,
): { readonly count: number; readonly afterPerson: boolean } {
  const claims = new Set(guided.claims.map((claim) => claim.nth));
  const stuck = new Set(guided.stuck.map((report) => report.nth));
  const person = Math.max(
    0,
    ...reviews
      .filter((each) => isAnswer(each) && each.nth !== undefined && each.nth < nth && !stuck.has(each.nth))
      .map((each) => each.nth ?? 0),
  );
  const before = guided.verdicts.filter(
    (each) => each.nth > person && each.nth < nth && claims.has(each.nth) === (kind === 'claimed'),
  );
  const from = kind === 'turn' ? before.findLastIndex(({ assessment }) => assessment === 'pass') + 1 : 0;
  const counted = before.slice(from).filter(({ assessment }) => assessment === 'retry');
  return { count: counted.length, afterPerson: person > 0 };
}

const after = (tries: number): string =>
  tries === 0 ? '' : `, after ${tries} more ${tries === 1 ? 'try' : 'tries'}`;

/** The last report of an attempt on the log. */
export function lastReported({ claims, stuck, verdicts }: GuidedState): Reported | undefined {
  const told = [...claims, ...stuck, ...verdicts];
  const nth = Math.max(0, ...told.map((each) => each.nth));
  if (nth === 0) return undefined;
  const halted = stuck.find((each) => each.nth === nth);
  if (halted !== undefined) return { kind: 'stuck', nth, why: halted.why };
  return claims.some((each) => each.nth === nth) ? { kind: 'claimed', nth } : { kind: 'turn', nth };
}
