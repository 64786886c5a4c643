import { useId, useState } from 'react';
import { Link } from 'wouter';
import type { Review } from '../../../../../telltale/src/events/state.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';

/** A question about an action, to be answered here. What is approved is what is done: the parameters are all there. */
export function ReviewCard({ review }: { readonly review: Review }) {
  const { toasts, reviews } = useData();
  const blocked = useBlocked('run');
  const [note, setNote] = useState('');
  const [isOpen, setOpen] = useState(false);
  const field = useId();
  const answer = useCall((client, options, said: 'approved' | 'rejected', why: string) =>
    client.answerReview(review.review, { answer: said, ...(why === '' ? {} : { note: why }) }, options),
  );
  const onAnswer = async (said: 'approved' | 'rejected') => {
    const details = await answer.run(said, note.trim());
    if (details === undefined) return;
    reviews.answered(details);
    toasts.say(
      'done',
      said === 'approved' ? 'Approved: the action goes on.' : 'Rejected: the agent is told.',
    );
  };
  return (
    <article className="rounded-lg border border-wait bg-wait-soft p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Icon name="person" size={18} className="text-wait" />
        <p className="min-w-0 flex-1 basis-60 text-body break-words">
          <strong className="font-semibold">{review.what}</strong>
          <span className="block text-small text-ink-soft">
            {review.target} · action {review.action} · {review.because} · asked{' '}
            <RelativeTime at={review.at} /> ·{' '}
            <Link href={`/reviews/${encodeURIComponent(review.review)}`} className="text-accent underline">
              in the inbox
            </Link>
          </span>
        </p>
        <label htmlFor={field} className="sr-only">
          Note
        </label>
        <input
          id={field}
          value={note}
          onChange={(event) => setNote(event.target.value)}
          placeholder="Note (optional)"
          className="h-8 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-body placeholder:text-ink-faint sm:w-52"
        />
        <div className="flex gap-2">
          <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
            Parameters
          </Button>
          <Button
            size="small"
            kind="danger"
            icon="cross"
            busy={answer.busy}
            blocked={blocked}
            onClick={() => onAnswer('rejected')}
          >
            Reject
          </Button>
          <Button
            size="small"
            kind="primary"
            icon="check"
            busy={answer.busy}
            blocked={blocked}
            onClick={() => onAnswer('approved')}
          >
            Approve
          </Button>
        </div>
      </div>
      {isOpen ? <JsonView value={review.input} label="Parameters" className="mt-2 max-h-60" /> : null}
      {answer.error === undefined ? null : (
        <p role="alert" className="mt-2 text-small text-fail">
          {answer.error.message} {answer.error.hint ?? ''}
        </p>
      )}
    </article>
  );
}
