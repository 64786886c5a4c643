import { useRef, useState } from 'react';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { toRuntimeError } from '../../../../telltale/src/kernel/runtime-error.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useKeys } from '../../shell/use-keys.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { AnswerButtons, AnswerEffects } from './answer-buttons.tsx';
import { answersOf, withWords } from './answers-of.ts';
import { cameLate, resolutionWords } from './review-words.ts';

/** Who reads the note. */
const noteHint = ({ kind, of }: ReviewInfo): string =>
  kind === 'escalation'
    ? '"Try again" needs them. They are kept with your answer on the log.'
    : of === 'session'
      ? 'The agent reads your note, and the log keeps it.'
      : 'The note is kept with your answer on the log.';

export interface ReviewAnswerProps {
  readonly review: ReviewInfo;
  /** Somebody was quicker: what they said is to be shown. */
  readonly onLate: () => void;
}

export function ReviewAnswer({ review, onLate }: ReviewAnswerProps) {
  const { reviews, toasts } = useData();
  const [note, setNote] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const blocked = useBlocked('run');
  const call = useCall(async (client, options, answer: AnswerReview) => {
    try {
      const details = await client.answerReview(review.review, answer, options);
      reviews.answered(details);
      toasts.say('done', `${resolutionWords({ answer: 'Answered', ...details })}: ${review.target}`);
      // The answer may be delivered, and on the log only in a moment.
      if (details.answer === undefined) onLate();
    } catch (thrown) {
      const { code, message } = toRuntimeError(thrown);
      if (!cameLate(code)) throw thrown;
      toasts.say('info', `Your answer came second, so it does not count. ${message}`);
      onLate();
    }
  });
  const escalated = review.kind === 'escalation';
  const answers = answersOf(review);
  const send = (answer: AnswerReview) => {
    if (blocked === undefined) void call.run(answer);
  };
  useKeys((key) => {
    if (key === 'e') {
      field.current?.focus();
      return true;
    }
    const meant = answers.find((one) => one.key === key);
    const answer = meant === undefined ? undefined : withWords(meant, note);
    if (answer !== undefined) send(answer);
    return answer !== undefined;
  });
  return (
    <div className="flex shrink-0 flex-col gap-3 border-t border-line bg-raised p-4">
      {call.error === undefined ? null : <ErrorState title="Your answer was not saved." error={call.error} />}
      <Field label={escalated ? 'Instructions for the agent' : 'Note'} optional hint={noteHint(review)}>
        {(tie) => (
          <textarea
            {...tie}
            ref={field}
            rows={2}
            value={note}
            onChange={(event) => setNote(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') event.currentTarget.blur();
            }}
          />
        )}
      </Field>
      <AnswerEffects answers={answers} />
      <AnswerButtons answers={answers} words={note} busy={call.busy} blocked={blocked} onAnswer={send} />
    </div>
  );
}
