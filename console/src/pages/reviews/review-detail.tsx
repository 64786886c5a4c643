import { useRef, useState } from 'react';
import { Link } from 'wouter';
import type { AnswerReview, ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { identityText } from '../../../../telltale/src/lib/ids.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { useReadable } from '../../data/readable.ts';
import type { Resolution } from '../../data/review-inbox.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { formatDateTime } from '../../format/format-time.ts';
import { useKeys } from '../../shell/use-keys.ts';
import { cx } from '../../ui/class-names.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { AnswerButtons, AnswerEffects, useAnswer } from './answers.tsx';
import { answersOf, withWords } from './answers-of.ts';
import { ReviewExact, ReviewParameters, ReviewWarnings } from './review-contents.tsx';
import { askerOf, askerPath, KIND_LABELS, questionOf, reasonOf, resolutionWords } from './review-words.ts';

/** A question with more characters is shown as a paragraph, not as a heading. */
const LONG_TITLE = 120;

export function ReviewDetail({ review }: { readonly review: string }) {
  const { reviews } = useData();
  const view = useReadable(reviews);
  const details = useLoaded(`review ${review}`, (client, signal) => client.review(review, { signal }));
  if (details.kind === 'loading') return <Loading label="Reading the review" />;
  if (details.kind === 'failed')
    return (
      <ErrorState
        title="The review could not be read."
        list={{ href: '/reviews', label: 'See all reviews' }}
        error={details.error}
        onRetry={details.reload}
      />
    );
  const info = details.value;
  const { title, exact } = questionOf(info);
  const { answer, by, choice, note, answeredAt } = info;
  const told: Resolution | undefined =
    answer === undefined
      ? undefined
      : {
          answer,
          by: by ?? 'somebody',
          at: answeredAt ?? info.at,
          ...(choice === undefined ? {} : { choice }),
          ...(note === undefined ? {} : { note }),
        };
  const resolution = view.answered.find((one) => one.review === review)?.resolution ?? told;
  return (
    <article
      aria-label={visibleText(title)}
      tabIndex={-1}
      ref={(element) => {
        // On a narrow screen the list disappears, and the focus with it.
        if (document.activeElement === document.body) element?.focus({ preventScroll: true });
      }}
      className="flex min-h-0 flex-1 flex-col overflow-y-auto rounded-lg border border-line bg-surface outline-none md:overflow-hidden"
    >
      <div className="flex shrink-0 flex-col gap-4 p-4 md:min-h-0 md:flex-1 md:shrink md:overflow-y-auto md:p-5">
        <div>
          <p className="text-small font-medium text-ink-faint">
            {KIND_LABELS[info.kind]} · {askerOf(info)}
          </p>
          <h2
            className={cx(
              'mt-0.5 font-semibold break-words',
              title.length > LONG_TITLE ? 'text-lead' : 'text-title',
            )}
          >
            {visibleText(title)}
          </h2>
          <ReviewExact kind={info.kind} text={exact} className="mt-2" />
        </div>
        <ReviewWarnings review={info} />
        <ReviewFacts review={info} />
        <ReviewParameters review={info} />
      </div>
      {resolution === undefined ? (
        <ReviewAnswer review={info} onLate={details.reload} />
      ) : (
        <ReviewOutcome resolution={resolution} />
      )}
    </article>
  );
}

/** Who asks, why, whom, and until when. */
const ReviewFacts = ({ review }: { readonly review: ReviewInfo }) => (
  <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-2 [&_dt]:text-small [&_dt]:text-ink-faint">
    <div className="sm:col-span-2">
      <dt>Why you are asked</dt>
      <dd className="break-words">{visibleText(reasonOf(review))}</dd>
    </div>
    <div>
      <dt>Asked by</dt>
      <dd>
        <Link href={askerPath(review)} className="font-medium text-accent hover:underline">
          {askerOf(review)}
        </Link>
      </dd>
    </div>
    <div>
      <dt>{review.of === 'session' ? 'Action' : 'Step'}</dt>
      <dd className="font-mono text-small leading-5 break-words">
        {visibleText(review.kind === 'permission' ? `${review.action}: ${review.target}` : review.action)}
      </dd>
    </div>
    <div>
      <dt>Asked</dt>
      <dd>
        <RelativeTime at={review.at} />
        {review.assignee === undefined ? '' : `, addressed to ${review.assignee}`}
      </dd>
    </div>
    {review.due === undefined ? null : (
      <div>
        <dt>Answer by</dt>
        <dd className="text-wait">
          <RelativeTime at={review.due} />
        </dd>
      </div>
    )}
  </dl>
);

/** Tells who reads the note. */
const noteHint = ({ kind, of }: ReviewInfo): string =>
  kind === 'escalation'
    ? '"Try again" needs instructions. The log keeps them with your answer.'
    : of === 'session'
      ? 'The agent reads your note, and the log keeps it.'
      : 'The note is kept with your answer on the log.';

interface ReviewAnswerProps {
  readonly review: ReviewInfo;
  /** Called if somebody else answered first, so that their answer is shown. */
  readonly onLate: () => void;
}

function ReviewAnswer({ review, onLate }: ReviewAnswerProps) {
  const [note, setNote] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const blocked = useBlocked('run');
  const call = useAnswer(review, onLate);
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

const LOOKS: Readonly<Record<string, readonly [IconName, string]>> = {
  approved: ['check', 'bg-done-soft text-done'],
  rejected: ['cross', 'bg-fail-soft text-fail'],
  withdrawn: ['slash', 'bg-off-soft text-off'],
};

/** Who answered what, and when. */
function ReviewOutcome({ resolution }: { readonly resolution: Resolution }) {
  const [icon, look] = LOOKS[resolution.answer] ?? (['check', 'bg-done-soft text-done'] as const);
  return (
    <div role="status" className={cx('flex shrink-0 gap-2.5 border-t border-line px-4 py-3', look)}>
      <Icon name={icon} size={18} className="mt-0.5" />
      <div className="min-w-0 text-ink">
        <p className="font-semibold">
          {resolutionWords(resolution)} by {identityText(resolution.by)}, <RelativeTime at={resolution.at} />
        </p>
        {resolution.note === undefined ? null : (
          <p className="mt-0.5 break-words whitespace-pre-wrap">{resolution.note}</p>
        )}
        <p className="text-small text-ink-soft">{formatDateTime(resolution.at)}. The decision is final.</p>
      </div>
    </div>
  );
}
