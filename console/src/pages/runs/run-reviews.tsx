import { useState } from 'react';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { useReadable } from '../../data/readable.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Code } from '../../ui/code.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { ReviewCard } from '../reviews/review-card.tsx';
import { resolutionWords } from '../reviews/review-words.ts';
import { useRunView } from './run-view.ts';

/** What the run asks of a person now, to be answered here. */
export function RunReviews() {
  const { id } = useRunView();
  const { open } = useReadable(useData().reviews);
  const own = open.filter((review) => review.session === id);
  if (own.length === 0) return null;
  return (
    <section aria-label="Waiting for a person" className="flex shrink-0 flex-col gap-2">
      {own.map((review) => (
        <RunReview key={review.review} review={review} />
      ))}
    </section>
  );
}

function RunReview({ review }: { readonly review: ReviewInfo }) {
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
