import { useState } from 'react';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Code } from '../../ui/code.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { ReviewCard } from './review-card.tsx';
import { resolutionWords } from './review-words.ts';

/** A question of a workflow run, to be answered on the page of the run or of its session. */
export function RunReview({ review }: { readonly review: ReviewInfo }) {
  const { reviews, toasts } = useData();
  const blocked = useBlocked('run');
  const [words, setWords] = useState('');
  const call = useCall((client, options, answer: AnswerReview) =>
    client.answerReview(review.review, answer, options),
  );
  const send = async (answer: AnswerReview) => {
    const details = await call.run(answer);
    if (details === undefined) return;
    reviews.answered(details);
    toasts.say('done', `${resolutionWords({ answer: 'Answered', ...details })}. The run continues.`);
  };
  return (
    <ReviewCard
      review={review}
      words={words}
      onWords={setWords}
      busy={call.busy}
      blocked={blocked}
      onAnswer={(answer) => void send(answer)}
      error={call.error}
    >
      <InvisibleWarning of={[review.what, review.because, review.parameters ?? '', review.options ?? []]} />
      {review.parameters === undefined ? null : (
        <details className="mt-2 text-small">
          <summary className="font-medium text-ink-soft">Parameters</summary>
          <Code text={review.parameters} className="mt-1" />
        </details>
      )}
    </ReviewCard>
  );
}
