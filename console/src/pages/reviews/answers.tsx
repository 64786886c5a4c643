import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { toRuntimeError } from '../../../../telltale/src/lib/errors.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { type Call, useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { type PossibleAnswer, withWords } from './answers-of.ts';
import { cameLate, resolutionWords } from './review-words.ts';

/** Answers a review. `onLate` is called if the answer is not on the log yet, or if another one was first. */
export function useAnswer(review: ReviewInfo, onLate: () => void): Call<[AnswerReview], void> {
  const { reviews, toasts } = useData();
  return useCall(async (client, options, answer: AnswerReview) => {
    try {
      const details = await client.answerReview(review.review, answer, options);
      reviews.answered(details);
      toasts.say('done', `${resolutionWords({ answer: 'Answered', ...details })}: ${review.target}`);
      if (details.answer === undefined) onLate();
    } catch (thrown) {
      const { code, message } = toRuntimeError(thrown);
      if (!cameLate(code)) throw thrown;
      toasts.say('info', `Your answer came second, so it does not count. ${message}`);
      onLate();
    }
  });
}

export interface AnswerButtonsProps {
  readonly answers: readonly PossibleAnswer[];
  readonly words: string;
  readonly busy: boolean;
  readonly blocked: string | undefined;
  readonly onAnswer: (answer: AnswerReview) => void;
}

export const AnswerButtons = ({ answers, words, busy, blocked, onAnswer }: AnswerButtonsProps) => (
  <fieldset className="flex flex-wrap gap-2">
    <legend className="sr-only">Answer</legend>
    {answers.map((one) => {
      const answer = withWords(one, words);
      const missing = answer === undefined ? 'Write your instructions first.' : undefined;
      return (
        <Button
          key={one.label}
          kind={one.kind}
          {...(one.icon === undefined ? {} : { icon: one.icon })}
          {...(one.key === undefined ? {} : { 'aria-keyshortcuts': one.key })}
          title={one.effect}
          busy={busy}
          blocked={blocked ?? missing}
          onClick={() => {
            if (answer !== undefined) onAnswer(answer);
          }}
        >
          {visibleText(one.label)}
        </Button>
      );
    })}
  </fieldset>
);

/** What each answer causes, above the buttons. */
export const AnswerEffects = ({ answers }: Pick<AnswerButtonsProps, 'answers'>) => {
  // If all of a step's own options simply continue, the buttons say enough.
  if (new Set(answers.map(({ effect }) => effect)).size === 1)
    return <p className="text-small text-ink-soft">{answers[0]?.effect}</p>;
  return (
    <dl className="grid gap-x-3 gap-y-0.5 text-small sm:grid-cols-[auto_minmax(0,1fr)]">
      {answers.map(({ label, effect }) => (
        <div key={label} className="contents">
          <dt className="font-medium break-words">{visibleText(label)}</dt>
          <dd className="mb-1 break-words text-ink-soft sm:mb-0">{visibleText(effect)}</dd>
        </div>
      ))}
    </dl>
  );
};
