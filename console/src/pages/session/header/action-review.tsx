import { useState } from 'react';
import type { Review } from '../../../../../telltale/src/events/state.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { InvisibleWarning } from '../../../ui/invisible-warning.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { ReviewCard } from '../../reviews/review-card.tsx';

/** A question about an action, to be answered here. What is approved is what is done: the parameters are all there. */
export function ActionReview({ review }: { readonly review: Review }) {
  const { toasts, reviews } = useData();
  const blocked = useBlocked('run');
  const [note, setNote] = useState('');
  const [isOpen, setOpen] = useState(false);
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
  const answers = [
    { said: 'rejected', label: 'Reject', kind: 'danger', icon: 'cross' },
    { said: 'approved', label: 'Approve', kind: 'primary', icon: 'check' },
  ] as const;
  return (
    <ReviewCard
      review={review}
      facts={`${review.target} · action ${review.action} · ${review.because}`}
      field={{ label: 'Note', placeholder: 'Note (optional)' }}
      words={note}
      onWords={setNote}
      answers={
        <div className="flex gap-2">
          <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
            Parameters
          </Button>
          {answers.map(({ said, label, ...look }) => (
            <Button
              key={said}
              size="small"
              {...look}
              busy={answer.busy}
              blocked={blocked}
              onClick={() => void onAnswer(said)}
            >
              {label}
            </Button>
          ))}
        </div>
      }
      parameters={
        <>
          {isOpen ? <JsonView value={review.input} label="Parameters" className="mt-2 max-h-60" /> : null}
          <InvisibleWarning of={[review.what, review.target, review.because, review.input]} />
        </>
      }
      error={answer.error}
    />
  );
}
