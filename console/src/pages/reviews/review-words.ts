import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { ReviewKind } from '../../../../telltale/src/events/review-kind.ts';
import type { Resolution } from '../../data/review-inbox.ts';

/** What is asked, by kind. */
export const KIND_WORDS: Readonly<Record<ReviewKind, string>> = {
  permission: 'May this be done?',
  approval: 'A question',
  confirm: 'May this step begin?',
  plan: 'May this plan be executed?',
  escalation: 'What now?',
};

export const KIND_LABELS: Readonly<Record<ReviewKind, string>> = {
  permission: 'Permission',
  approval: 'Approval',
  confirm: 'Confirm',
  plan: 'Plan',
  escalation: 'Escalation',
};

const ANSWERS: Readonly<Record<string, string>> = {
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
};

/** `Approved`, or the option that was chosen. */
export const resolutionWords = ({ answer, choice }: Pick<Resolution, 'answer' | 'choice'>): string =>
  choice === undefined || choice === answer ? (ANSWERS[answer] ?? answer) : `Answered "${choice}"`;

/** Where the one who asks is: the page of its session or run. */
export const askerPath = ({ of, session }: Pick<ReviewInfo, 'of' | 'session'>): string =>
  of === 'run' ? `/runs/${session}` : `/sessions/${session}`;

/** Codes that say that an answer came too late: no failure, but news. */
const LATE: ReadonlySet<string> = new Set(['review_answered', 'review_withdrawn']);

export const cameLate = (code: string): boolean => LATE.has(code);
