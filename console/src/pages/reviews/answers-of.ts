import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { ButtonKind } from '../../ui/button.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';

/** One way to answer a review. */
export interface PossibleAnswer {
  readonly label: string;
  readonly kind: ButtonKind;
  readonly icon?: IconName;
  /** The key that gives it. */
  readonly key?: 'a' | 'r';
  readonly answer: AnswerReview;
  /** Words have to be written first: they are the answer. */
  readonly needsWords?: true;
}

const YES = { label: 'Approve', kind: 'primary', icon: 'check', key: 'a' } as const;
const NO = { label: 'Reject', kind: 'danger', icon: 'cross', key: 'r' } as const;

/** What the options of an escalation mean: let the work pass, have it done again, or give the step up. */
const SETTLED: Readonly<Record<string, PossibleAnswer>> = {
  pass: { ...YES, label: 'Pass as it is', answer: { choice: 'pass' } },
  retry: {
    ...{ label: 'Try again with these words', kind: 'plain', icon: 'message' },
    ...{ answer: {}, needsWords: true },
  },
  fail: { ...NO, label: 'Let the step fail', answer: { choice: 'fail' } },
};

/** The answers that a review can be given; yes and no where it has no options of its own. */
export function answersOf({
  kind,
  options = ['approve', 'reject'],
}: Pick<ReviewInfo, 'kind' | 'options'>): readonly PossibleAnswer[] {
  return options.map((choice, at) => {
    const settled = kind === 'escalation' ? SETTLED[choice] : undefined;
    if (settled !== undefined) return settled;
    if (choice === 'approve') return { ...YES, answer: { answer: 'approved' } };
    if (choice === 'reject') return { ...NO, answer: { answer: 'rejected' } };
    return { label: choice, kind: at === 0 ? 'primary' : 'plain', answer: { choice } };
  });
}

/** What is sent: the answer with what was written beside it, or the words themselves. */
export function withWords({ answer, needsWords }: PossibleAnswer, written: string): AnswerReview | undefined {
  const words = written.trim();
  if (needsWords === true) return words === '' ? undefined : { text: words };
  return words === '' ? answer : { ...answer, note: words };
}
