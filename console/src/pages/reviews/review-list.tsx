import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { InboxView } from '../../data/review-inbox.ts';
import { Kbd } from '../../ui/kbd.tsx';
import { ReviewLine } from './review-line.tsx';

export interface ReviewListProps {
  readonly open: readonly ReviewInfo[];
  readonly answered: InboxView['answered'];
  readonly chosen: string | undefined;
}

export const ReviewList = ({ open, answered, chosen }: ReviewListProps) => (
  <div className="flex min-h-0 flex-1 flex-col rounded-lg border border-line bg-surface">
    <div className="min-h-0 flex-1 overflow-y-auto">
      {open.length === 0 ? (
        <p className="p-4 text-ink-soft">No more reviews are waiting for you.</p>
      ) : (
        <ul aria-label="Waiting" className="divide-y divide-line">
          {open.map((review) => (
            <ReviewLine key={review.review} review={review} chosen={review.review === chosen} />
          ))}
        </ul>
      )}
      {answered.length === 0 ? null : (
        <>
          <h2 className="border-y border-line bg-sunken px-3 py-1.5 text-small font-semibold text-ink-faint">
            Answered while you were here
          </h2>
          <ul className="divide-y divide-line">
            {answered.map((review) => (
              <ReviewLine
                key={review.review}
                review={review}
                resolution={review.resolution}
                chosen={review.review === chosen}
              />
            ))}
          </ul>
        </>
      )}
    </div>
    <p className="hidden shrink-0 items-center gap-1 border-t border-line px-3 py-2 text-small text-ink-faint md:flex">
      <Kbd>j</Kbd>
      <Kbd>k</Kbd> move
      <span className="w-2" />
      <Kbd>a</Kbd> approve
      <span className="w-2" />
      <Kbd>r</Kbd> reject
      <span className="w-2" />
      <Kbd>e</Kbd> note
    </p>
  </div>
);
