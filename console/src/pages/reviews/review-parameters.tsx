import type { ReviewDetailsInfo } from '../../../../telltale/src/client/api.ts';
import { shortContent, uncoveredText } from '../../../../telltale/src/kernel/approved-files.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { Code } from '../../ui/code.tsx';
import { Icon } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';

/** Exactly what is approved: what was resolved is what runs. */
export const ReviewParameters = ({ review }: { readonly review: ReviewDetailsInfo }) => (
  <>
    {review.replaces === undefined ? null : (
      <p className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
        <Icon name="alert" className="mt-0.5 text-wait" />
        <span>
          You are asked again because something changed after the first approval:{' '}
          {visibleText(review.replaces.changed.join(', '))}.
        </span>
      </p>
    )}
    <ReviewCoverage review={review} />
    {review.plan === undefined ? null : (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">The plan</h2>
        <JsonView value={review.plan} label="The plan" />
      </section>
    )}
    {review.input !== undefined ? (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">
          Parameters, exactly as they would run
        </h2>
        <JsonView value={review.input} label="Parameters" />
      </section>
    ) : review.parameters !== undefined ? (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">Parameters (shortened)</h2>
        <Code text={review.parameters} />
      </section>
    ) : null}
  </>
);

/** The files that an approval covers, and why it may not cover all that runs. */
const ReviewCoverage = ({ review }: { readonly review: ReviewDetailsInfo }) => {
  const warning = uncoveredText(review);
  return (
    <>
      {warning === undefined ? null : (
        <p className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
          <Icon name="alert" className="mt-0.5 text-wait" />
          <span className="min-w-0 break-words">{warning}</span>
        </p>
      )}
      {review.files === undefined ? null : (
        <section>
          <h2 className="mb-1 text-small font-semibold text-ink-faint">Files that an approval covers</h2>
          <ul className="font-mono text-small leading-5">
            {review.files.map(({ path, content, leads }) => (
              <li key={path} className="break-all">
                {visibleText(path)}
                {leads === undefined ? '' : ` → ${visibleText(leads)}`}{' '}
                <span className="text-ink-faint" title={content}>
                  {shortContent({ content })}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
};
