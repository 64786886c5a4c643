import { useId, useState } from 'react';
import { Link } from 'wouter';
import type { AnswerReview, ReviewDetailsInfo, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { useReadable } from '../../data/readable.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { AnswerButtons, AnswerEffects, useAnswer } from './answers.tsx';
import { answersOf } from './answers-of.ts';
import { ReviewExact, ReviewParameters, ReviewWarnings } from './review-contents.tsx';
import { askerOf, askerPath, isAskedIn, questionOf, reasonOf } from './review-words.ts';

export interface WaitingReviewsProps {
  /** The session or run of the page. */
  readonly stream: string;
  readonly className?: string;
}

/**
 * The open reviews of a session or run, and of the runs and sub-agents below it. They are the current ones, whatever
 * moment the page shows. On a narrow screen, the questions are collapsed to leave room for the page.
 */
export function WaitingReviews({ stream, className }: WaitingReviewsProps) {
  const { open } = useReadable(useData().reviews);
  const isWide = useMedia('(min-width: 64rem)');
  const [isOpen, setOpen] = useState(false);
  const cards = useId();
  const reviews = open.filter((review) => isAskedIn(review, stream));
  const [first] = reviews;
  if (first === undefined) return null;
  const isShown = isWide || isOpen;
  return (
    <section aria-label="Waiting for you" className={cx('flex shrink-0 flex-col gap-2', className)}>
      {isWide ? null : (
        <div className="flex items-center gap-2.5 rounded-lg border border-wait bg-wait-soft py-2 pr-2 pl-3">
          <Icon name="person" size={18} className="text-wait" />
          <p className="line-clamp-2 min-w-0 flex-1 font-semibold break-words">
            {reviews.length === 1
              ? visibleText(questionOf(first).title)
              : `${plural(reviews.length, 'review')} waiting for you`}
          </p>
          <Button
            size="small"
            kind={isOpen ? 'plain' : 'primary'}
            aria-expanded={isOpen}
            aria-controls={cards}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide' : 'Answer'}
          </Button>
        </div>
      )}
      <div id={cards} className="contents">
        {isShown
          ? reviews.map((review) => (
              <ReviewCard key={review.review} review={review} isOther={review.session !== stream} />
            ))
          : null}
      </div>
    </section>
  );
}

interface ReviewCardProps {
  readonly review: ReviewInfo;
  /** Whether a run or sub-agent below the page's own asks. */
  readonly isOther: boolean;
}

/** An open review, which can be answered right on the page that it blocks. */
function ReviewCard({ review, isOther }: ReviewCardProps) {
  const { reviews } = useData();
  const id = useId();
  const blocked = useBlocked('run');
  const [words, setWords] = useState('');
  const [isOpen, setOpen] = useState(false);
  const details = useLoaded(`review ${review.review}`, (client, signal) =>
    client.review(review.review, { signal }),
  );
  const call = useAnswer(review, () => void reviews.refresh());
  const shown: ReviewDetailsInfo = details.kind === 'ready' ? details.value : review;
  const { title, exact } = questionOf(shown);
  const answers = answersOf(shown);
  const isPlan = shown.plan !== undefined;
  const hasMore = isPlan || shown.input !== undefined || shown.parameters !== undefined;
  const label = review.kind === 'escalation' ? 'Instructions for the agent' : 'Note (optional)';
  return (
    <article className="flex flex-col gap-2 rounded-lg border border-wait bg-wait-soft p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Icon name="person" size={18} className="text-wait" />
        <div className="min-w-0 flex-1 basis-60 text-body break-words">
          <p className="font-semibold">{visibleText(title)}</p>
          <p className="text-small text-ink-soft">
            {visibleText(reasonOf(review))} Asked{' '}
            {isOther ? (
              <>
                by{' '}
                <Link href={askerPath(review)} className="text-accent underline">
                  {askerOf(review)}
                </Link>{' '}
              </>
            ) : null}
            <RelativeTime at={review.at} />.{' '}
            <Link href={`/reviews/${encodeURIComponent(review.review)}`} className="text-accent underline">
              All about this review
            </Link>
          </p>
        </div>
        <ReviewExact kind={review.kind} text={exact} className="max-h-40 w-full overflow-y-auto" />
        <label htmlFor={id} className="sr-only">
          {label}
        </label>
        <input
          id={id}
          value={words}
          onChange={(event) => setWords(event.target.value)}
          placeholder={label}
          className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-body placeholder:text-ink-faint sm:w-60"
        />
        <AnswerButtons
          answers={answers}
          words={words}
          busy={call.busy}
          blocked={blocked}
          onAnswer={(answer: AnswerReview) => void call.run(answer)}
        />
      </div>
      <ReviewWarnings review={shown} />
      {hasMore ? (
        <div>
          <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
            {isPlan ? 'The plan' : 'Parameters'}
          </Button>
          {isOpen ? (
            <div className="mt-2 flex max-h-60 flex-col gap-2 overflow-y-auto">
              <ReviewParameters review={shown} />
            </div>
          ) : null}
        </div>
      ) : null}
      <details className="text-small">
        <summary className="font-medium text-ink-soft">What each answer does</summary>
        <div className="mt-1">
          <AnswerEffects answers={answers} />
        </div>
      </details>
      {call.error === undefined ? null : (
        <p role="alert" className="text-small text-fail">
          {call.error.message} {call.error.hint ?? ''}
        </p>
      )}
    </article>
  );
}
