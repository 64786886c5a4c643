import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { OpenReview } from '../../session/reviews/review-table.ts';
import type { Runtime } from '../../session/runtime-types.ts';

/** The open review that an argument means: its id, the beginning or the end of one, or `last`. */
export async function findOpenReview(runtime: Pick<Runtime, 'reviews'>, asked: string): Promise<OpenReview> {
  const open = await runtime.reviews();
  const newest = open.at(-1);
  if (newest === undefined) throw nothingOpen(asked);
  if (asked === 'last') return newest;
  const exact = open.find(({ review }) => review === asked);
  if (exact !== undefined) return exact;
  const matching = asked === '' ? [] : open.filter(({ review }) => isPart(review, asked));
  const [only] = matching;
  if (only === undefined) throw reviewUnknown(asked, open);
  if (matching.length > 1) throw reviewAmbiguous(asked, matching);
  return only;
}

const isPart = (id: string, asked: string) => id.startsWith(asked) || id.endsWith(asked);

const MAX_NAMED = 5;

const nothingOpen = (asked: string) =>
  new RuntimeError('review_unknown', `There is no open review '${asked}': nothing waits for a person.`, {
    hint: 'A decision counts once: it may have been given already.',
  });

const reviewUnknown = (asked: string, open: readonly OpenReview[]) =>
  new RuntimeError('review_unknown', `There is no open review '${asked}'.`, {
    hint: `${suggest(
      asked,
      open.slice(-MAX_NAMED).map(({ review }) => review),
      'Open ones',
    )} "telltale reviews" lists them.`,
  });

const reviewAmbiguous = (asked: string, matching: readonly OpenReview[]) =>
  new RuntimeError('review_ambiguous', `'${asked}' may be any of ${matching.length} reviews.`, {
    hint: `Write more of the id: ${matching
      .slice(0, MAX_NAMED)
      .map(({ review }) => review)
      .join(', ')}.`,
  });
