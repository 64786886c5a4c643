import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { ButtonKind } from '../../ui/button.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';

/** A possible answer to a review. */
export interface PossibleAnswer {
  readonly label: string;
  /** What the answer causes, in a sentence. */
  readonly effect: string;
  readonly kind: ButtonKind;
  readonly icon?: IconName;
  /** The keyboard shortcut. */
  readonly key?: 'a' | 'r';
  readonly answer: AnswerReview;
  /** The person must write text, which is the answer. */
  readonly needsWords?: true;
}

export type Answerable = Pick<ReviewInfo, 'kind' | 'options' | 'of' | 'agent' | 'action' | 'what' | 'always'>;

const YES = { label: 'Approve', kind: 'primary', icon: 'check', key: 'a' } as const;
const NO = { label: 'Reject', kind: 'danger', icon: 'cross', key: 'r' } as const;

const YES_OR_NO: readonly string[] = ['approve', 'reject'];
const CONTINUES = 'The workflow continues with this answer.';

type Consequences = readonly [yes: string, no: string];

/** What approving and rejecting cause. */
function consequences({ kind, of, agent, action, what, options = YES_OR_NO }: Answerable): Consequences {
  const step = `the step "${action}"`;
  switch (kind) {
    case 'permission':
      return of === 'session'
        ? [
            'It runs exactly as shown, once.',
            `It does not run. ${agent} is told so, with your note, and continues without it.`,
          ]
        : [
            'It runs exactly as shown, and the workflow continues.',
            `It does not run, and ${step} fails with your note as the reason.`,
          ];
    case 'confirm':
      return ['The step starts.', `The step does not start, and ${step} fails with your note as the reason.`];
    case 'plan':
      return [
        'The plan runs exactly as shown.',
        what.includes('planned once more')
          ? 'The plan does not run. With a note, the agent plans again; without one, the step fails.'
          : 'The plan does not run, and the step fails.',
      ];
    default:
      // If the review has options of its own, a rejection is an answer like the others.
      return options.every((option) => YES_OR_NO.includes(option))
        ? ['The workflow continues.', `${capital(step)} fails with your note as the reason.`]
        : [CONTINUES, CONTINUES];
  }
}

const capital = (text: string): string => text.replace(/^./u, (first) => first.toUpperCase());

/** What the options of an escalation mean: accept the work, have it done again, or fail the step. */
const SETTLED: Readonly<Record<string, PossibleAnswer>> = {
  pass: {
    ...YES,
    label: 'Accept the step',
    answer: { choice: 'pass' },
    effect: 'The step counts as done, and the run continues.',
  },
  retry: {
    label: 'Try again',
    kind: 'plain',
    icon: 'message',
    answer: {},
    needsWords: true,
    effect: 'The agent tries again with your instructions.',
  },
  fail: {
    ...NO,
    label: 'Fail the step',
    answer: { choice: 'fail' },
    effect: 'The step fails with your note as the reason.',
  },
};

/** The text of an escalation that judges a turn instead of a step. */
const PASS_TURN = 'pass: the agent goes on.';

const CONTINUE_TURN: PossibleAnswer = {
  ...YES,
  label: 'Let it continue',
  answer: { choice: 'pass' },
  effect: 'The agent continues with the step.',
};

/** Approves whatever the review offers to cover until the session ends. */
const forSession = (covers: string): PossibleAnswer => ({
  label: 'Always for this session',
  kind: 'plain',
  icon: 'check',
  effect: `It runs, and until the session ends you are not asked again about ${covers}.`,
  answer: { answer: 'approved', always: true },
});

/** The possible answers to a review. Yes and no if it has no options of its own. */
export function answersOf(review: Answerable): readonly PossibleAnswer[] {
  const { kind, options = YES_OR_NO } = review;
  const [yes, no] = consequences(review);
  return options.flatMap((choice, at): PossibleAnswer | readonly PossibleAnswer[] => {
    const settled = kind === 'escalation' ? SETTLED[choice] : undefined;
    if (choice === 'pass' && settled !== undefined && review.what.includes(PASS_TURN)) return CONTINUE_TURN;
    if (settled !== undefined) return settled;
    if (choice === 'approve') {
      const once: PossibleAnswer = { ...YES, effect: yes, answer: { answer: 'approved' } };
      return review.always === undefined ? once : [once, forSession(review.always)];
    }
    if (choice === 'reject') return { ...NO, effect: no, answer: { answer: 'rejected' } };
    return { label: choice, kind: at === 0 ? 'primary' : 'plain', answer: { choice }, effect: CONTINUES };
  });
}

/** What is sent: the answer with its note, or the text itself. */
export function withWords({ answer, needsWords }: PossibleAnswer, written: string): AnswerReview | undefined {
  const words = written.trim();
  if (needsWords === true) return words === '' ? undefined : { text: words };
  return words === '' ? answer : { ...answer, note: words };
}
