import type { ReviewDetailsInfo } from '../../../../telltale/src/client/api.ts';
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
          It was approved before, and is asked again because something is different now:{' '}
          {review.replaces.changed.join(', ')}.
        </span>
      </p>
    )}
    {review.plan === undefined ? null : (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">The plan</h2>
        <JsonView value={review.plan} label="The plan" />
      </section>
    )}
    {review.input !== undefined ? (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">Parameters, exactly as they will run</h2>
        <JsonView value={review.input} label="Parameters" />
      </section>
    ) : review.parameters !== undefined ? (
      <section>
        <h2 className="mb-1 text-small font-semibold text-ink-faint">Parameters (cut)</h2>
        <Code text={review.parameters} />
      </section>
    ) : null}
  </>
);
