import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import type { ErrorJson } from '../../../../telltale/src/kernel/runtime-error.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';

export interface ReviewCardProps {
  readonly review: { readonly review: string; readonly what: string; readonly at: number };
  /** What there is to know beside the question, between dots. */
  readonly facts: string;
  readonly field: { readonly label: string; readonly placeholder: string };
  readonly words: string;
  readonly onWords: (words: string) => void;
  /** The buttons. */
  readonly answers: ReactNode;
  readonly parameters: ReactNode;
  readonly error: ErrorJson | undefined;
}

/** What waits for a person, to be answered on the page of whom it holds up. */
export function ReviewCard({ review, facts, field, words, onWords, answers, ...rest }: ReviewCardProps) {
  const { parameters, error } = rest;
  const id = useId();
  return (
    <article className="rounded-lg border border-wait bg-wait-soft p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Icon name="person" size={18} className="text-wait" />
        <p className="min-w-0 flex-1 basis-60 text-body break-words">
          <strong className="font-semibold whitespace-pre-wrap">{visibleText(review.what)}</strong>
          <span className="block text-small text-ink-soft">
            {visibleText(facts)} · asked <RelativeTime at={review.at} /> ·{' '}
            <Link href={`/reviews/${encodeURIComponent(review.review)}`} className="text-accent underline">
              in the inbox
            </Link>
          </span>
        </p>
        <label htmlFor={id} className="sr-only">
          {field.label}
        </label>
        <input
          id={id}
          value={words}
          onChange={(event) => onWords(event.target.value)}
          placeholder={field.placeholder}
          className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-body placeholder:text-ink-faint sm:w-52"
        />
        {answers}
      </div>
      {parameters}
      {error === undefined ? null : (
        <p role="alert" className="mt-2 text-small text-fail">
          {error.message} {error.hint ?? ''}
        </p>
      )}
    </article>
  );
}
