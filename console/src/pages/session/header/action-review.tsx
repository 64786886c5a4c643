import { useState } from 'react';
import type { AnswerReview } from '../../../../../telltale/src/client/api.ts';
import type { Review } from '../../../../../telltale/src/events/state.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { InvisibleWarning } from '../../../ui/invisible-warning.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { ReviewCard } from '../../reviews/review-card.tsx';
import { useSessionView } from '../session-view.ts';

/** A question about an action, to be answered here. What is approved is what is done: the parameters are all there. */
export function ActionReview({ review }: { readonly review: Review }) {
  const { id, model } = useSessionView();
  const { toasts, reviews } = useData();
  const blocked = useBlocked('run');
  const [note, setNote] = useState('');
  const [isOpen, setOpen] = useState(false);
  const call = useCall((client, options, answer: AnswerReview) =>
    client.answerReview(review.review, answer, options),
  );
  const { agent } = model.stateAt(model.events.length);
  const { always, ...asked } = review;
  const covers = always === undefined ? {} : { always: always.covers };
  const send = async (answer: AnswerReview) => {
    const details = await call.run(answer);
    if (details === undefined) return;
    reviews.answered(details);
    toasts.say(
      'done',
      answer.answer === 'approved'
        ? 'Approved: the action runs now.'
        : `Rejected: ${agent} is told and continues without it.`,
    );
  };
  return (
    <ReviewCard
      review={{ ...asked, ...covers, kind: 'permission', of: 'session', session: id, agent }}
      words={note}
      onWords={setNote}
      busy={call.busy}
      blocked={blocked}
      onAnswer={(answer) => void send(answer)}
      error={call.error}
    >
      <InvisibleWarning of={[review.what, review.target, review.because, review.input]} />
      <Button size="small" className="mt-2" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        Parameters
      </Button>
      {isOpen ? <JsonView value={review.input} label="Parameters" className="mt-2 max-h-60" /> : null}
    </ReviewCard>
  );
}
