import type { ApprovalState, GuidedState } from '../../events/run-state.ts';
import type { Verifier } from './verify/verdict.ts';

/** A report on a task, as far as it is on the run's log. */
export type Reported =
  | { readonly kind: 'claimed'; readonly nth: number }
  | { readonly kind: 'turn'; readonly nth: number }
  | { readonly kind: 'stuck'; readonly nth: number; readonly why: string };

/** What the log says of an attempt at a task. */
export interface TaskLog {
  readonly guided: GuidedState;
  /** Escalations of this attempt. */
  readonly reviews: readonly ApprovalState[];
}

/** What is to be done about a report. */
export type Next =
  | { readonly kind: 'verify' }
  /** A person has to decide; `because` is for them. */
  | { readonly kind: 'ask'; readonly because: string }
  /** A claim: the step is done. A turn: it goes on. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'again'; readonly text: string; readonly by: string }
  | { readonly kind: 'fail'; readonly by: string; readonly note?: string };

/**
 * Decides by the log alone: the same before and after a restart. A report that has a verdict is not verified again, one
 * that a person has settled is not asked about again.
 */
export function decideReport(reported: Reported, verify: Verifier | undefined, log: TaskLog): Next {
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

/** The runtime's own withdrawal settles nothing. */
const isAnswer = ({ answer }: ApprovalState): boolean => answer !== undefined && answer !== 'withdrawn';

/** Once a person has had a say, they are asked again after one more try. */
const allowed = ({ max_retries: max }: Verifier, afterPerson: boolean): number =>
  afterPerson ? Math.min(1, max) : max;

/**
 * How often the agent was told to try again before this report: claims and turns by themselves, since the last word of
 * a person on a verdict; of turns those without a pass between.
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

/** The report of an attempt that came last, where something of it is on the log. */
export function lastReported({ claims, stuck, verdicts }: GuidedState): Reported | undefined {
  const nth = Math.max(0, ...[...claims, ...stuck, ...verdicts].map((each) => each.nth));
  if (nth === 0) return undefined;
  const halted = stuck.find((each) => each.nth === nth);
  if (halted !== undefined) return { kind: 'stuck', nth, why: halted.why };
  return claims.some((each) => each.nth === nth) ? { kind: 'claimed', nth } : { kind: 'turn', nth };
}
