import { useId, useState } from 'react';
import { Link } from 'wouter';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { useReadable } from '../../data/readable.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Code } from '../../ui/code.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { AnswerButtons } from '../reviews/answer-buttons.tsx';
import { answersOf } from '../reviews/answers-of.ts';
import { KIND_LABELS, resolutionWords } from '../reviews/review-words.ts';
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
  const field = useId();
  const call = useCall((client, options, answer: AnswerReview) =>
    client.answerReview(review.review, answer, options),
  );
  const send = async (answer: AnswerReview) => {
    const details = await call.run(answer);
    if (details === undefined) return;
    reviews.answered(details);
    toasts.say('done', `${resolutionWords({ answer: 'Answered', ...details })}: the run goes on.`);
  };
  return (
    <article className="rounded-lg border border-wait bg-wait-soft p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Icon name="person" size={18} className="text-wait" />
        <p className="min-w-0 flex-1 basis-60 break-words">
          <strong className="font-semibold whitespace-pre-wrap">{review.what}</strong>
          <span className="block text-small text-ink-soft">
            {KIND_LABELS[review.kind]} · {review.because} · asked <RelativeTime at={review.at} /> ·{' '}
            <Link href={`/reviews/${encodeURIComponent(review.review)}`} className="text-accent underline">
              in the inbox
            </Link>
          </span>
        </p>
        <label htmlFor={field} className="sr-only">
          {review.kind === 'escalation' ? 'What the agent is told' : 'Note'}
        </label>
        <input
          id={field}
          value={words}
          onChange={(event) => setWords(event.target.value)}
          placeholder={review.kind === 'escalation' ? 'What the agent is told' : 'Note (optional)'}
          className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-body placeholder:text-ink-faint sm:w-52"
        />
        <AnswerButtons
          answers={answersOf(review)}
          words={words}
          busy={call.busy}
          blocked={blocked}
          onAnswer={(answer) => void send(answer)}
        />
      </div>
      {review.parameters === undefined ? null : (
        <details className="mt-2 text-small">
          <summary className="font-medium text-ink-soft">Parameters</summary>
          <Code text={review.parameters} className="mt-1" />
        </details>
      )}
      {call.error === undefined ? null : (
        <p role="alert" className="mt-2 text-small text-fail">
          {call.error.message} {call.error.hint ?? ''}
        </p>
      )}
    </article>
  );
}
