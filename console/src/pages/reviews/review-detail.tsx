import type { ReviewDetailsInfo } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { useReadable } from '../../data/readable.ts';
import type { Resolution } from '../../data/review-inbox.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { cx } from '../../ui/class-names.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { Loading } from '../../ui/loading.tsx';
import { ReviewAnswer } from './review-answer.tsx';
import { ReviewExact } from './review-exact.tsx';
import { ReviewFacts } from './review-facts.tsx';
import { ReviewOutcome } from './review-outcome.tsx';
import { ReviewParameters } from './review-parameters.tsx';
import { askerOf, KIND_LABELS, questionOf } from './review-words.ts';

/** Characters from which a question is a paragraph rather than a heading. */
const LONG_TITLE = 120;

/** All that the model or a tool may have written of what is shown here. */
const shownOf = (review: ReviewDetailsInfo) => {
  const { what, because, target, action, options, files, uncovered, replaces } = review;
  const { input, parameters, plan } = review;
  return [
    [what, because, target, action, options ?? []],
    [files ?? [], uncovered ?? [], replaces?.changed ?? []],
    [input ?? parameters ?? [], plan ?? []],
  ];
};

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
          ...{ answer, by: by ?? 'somebody', at: answeredAt ?? info.at },
          ...(choice === undefined ? {} : { choice }),
          ...(note === undefined ? {} : { note }),
        };
  const resolution = view.answered.find((one) => one.review === review)?.resolution ?? told;
  return (
    <article
      aria-label={visibleText(title)}
      tabIndex={-1}
      ref={(element) => {
        // On a narrow screen the list is gone, and the focus with it.
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
        <InvisibleWarning of={shownOf(info)} />
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
