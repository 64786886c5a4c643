import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { ErrorJson } from '../../../../telltale/src/kernel/runtime-error.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { AnswerButtons, AnswerEffects } from './answer-buttons.tsx';
import { answersOf } from './answers-of.ts';
import { ReviewExact } from './review-exact.tsx';
import { questionOf, reasonOf } from './review-words.ts';

export interface ReviewCardProps {
  readonly review: ReviewInfo;
  readonly words: string;
  readonly onWords: (words: string) => void;
  readonly busy: boolean;
  readonly blocked: string | undefined;
  readonly onAnswer: (answer: AnswerReview) => void;
  /** What else is decided on. */
  readonly children: ReactNode;
  readonly error: ErrorJson | undefined;
}

/** What waits for a person, to be answered on the page of whom it holds up. */
export function ReviewCard({ review, words, onWords, error, children, ...answering }: ReviewCardProps) {
  const id = useId();
  const { title, exact } = questionOf(review);
  const answers = answersOf(review);
  const label = review.kind === 'escalation' ? 'Instructions for the agent' : 'Note (optional)';
  return (
    <article className="rounded-lg border border-wait bg-wait-soft p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Icon name="person" size={18} className="text-wait" />
        <p className="min-w-0 flex-1 basis-60 text-body break-words">
          <strong className="font-semibold">{visibleText(title)}</strong>
          <span className="block text-small text-ink-soft">
            {visibleText(reasonOf(review))} Asked <RelativeTime at={review.at} />.{' '}
            <Link href={`/reviews/${encodeURIComponent(review.review)}`} className="text-accent underline">
              All about this review
            </Link>
          </span>
        </p>
        <ReviewExact kind={review.kind} text={exact} className="max-h-40 w-full overflow-y-auto" />
        <label htmlFor={id} className="sr-only">
          {label}
        </label>
        <input
          id={id}
          value={words}
          onChange={(event) => onWords(event.target.value)}
          placeholder={label}
          className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-body placeholder:text-ink-faint sm:w-52"
        />
        <AnswerButtons answers={answers} words={words} {...answering} />
      </div>
      {children}
      <details className="mt-2 text-small">
        <summary className="font-medium text-ink-soft">What each answer does</summary>
        <div className="mt-1">
          <AnswerEffects answers={answers} />
        </div>
      </details>
      {error === undefined ? null : (
        <p role="alert" className="mt-2 text-small text-fail">
          {error.message} {error.hint ?? ''}
        </p>
      )}
    </article>
  );
}
