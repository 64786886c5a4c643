import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Sessions } from '../../session/open-sessions.ts';
import { closedIn, closedLike } from '../../session/reviews/review-table.ts';

/**
 * The id of the review that an argument means: an id, the beginning or the end of one, or `last`, the newest that is
 * open. Open ones come first; those that are not open any more are found, too.
 */
export async function findReview(
  { reviews, store }: Pick<Sessions, 'reviews' | 'store'>,
  asked: string,
): Promise<string> {
  const open = (await reviews()).map(({ review }) => review);
  const newest = open.at(-1);
  if (asked === 'last' || asked === '') {
    if (asked === '' || newest === undefined) throw reviewUnknown(asked, open);
    return newest;
  }
  if (open.includes(asked) || (await closedIn(store, asked)) !== undefined) return asked;
  const parts = open.filter((id) => id.startsWith(asked) || id.endsWith(asked));
  const matching = parts.length > 0 ? parts : await closedLike(store, asked, MAX_NAMED + 1);
  const [only] = matching;
  if (only === undefined) throw reviewUnknown(asked, open);
  if (matching.length > 1) throw reviewAmbiguous(asked, matching);
  return only;
}

/** The same for what decides: `last` may be another one than the one that was looked at, where several are open. */
export async function findToAnswer(
  sessions: Pick<Sessions, 'reviews' | 'store'>,
  asked: string,
): Promise<string> {
  const open = asked === 'last' ? (await sessions.reviews()).map(({ review }) => review) : [];
  if (open.length > 1) throw reviewAmbiguous(asked, open.toReversed());
  return findReview(sessions, asked);
}

const MAX_NAMED = 5;

const reviewUnknown = (asked: string, open: readonly string[]) =>
  open.length === 0
    ? new RuntimeError('review_unknown', `There is no review '${asked}': nothing waits for a person.`, {
        hint: 'To see what has run: telltale sessions, telltale workflow list',
      })
    : new RuntimeError('review_unknown', `There is no review '${asked}'.`, {
        hint: `${suggest(asked, open.slice(-MAX_NAMED), 'Open ones')} "telltale reviews" lists them.`,
      });

const reviewAmbiguous = (asked: string, matching: readonly string[]) => {
  const named = matching.slice(0, MAX_NAMED);
  const more = matching.length > named.length ? ' and more' : '';
  return new RuntimeError('review_ambiguous', `'${asked}' matches several reviews.`, {
    hint: `Write the id: ${named.join(', ')}${more}.`,
  });
};
