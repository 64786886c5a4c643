import type { Review } from '../../events/state.ts';
import type { Json } from '../../kernel/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { Store, TableWrite } from '../../store/store.ts';

/** An open review, as it is listed over all sessions. */
export interface OpenReview {
  readonly review: string;
  readonly session: string;
  readonly agent: string;
  readonly action: string;
  readonly target: string;
  /** What would be done, cut to a bounded size: the session's log has all of it. */
  readonly what: string;
  readonly because: string;
  /** The answers that a workflow's step gives to choose from. */
  readonly options?: readonly string[];
  /** Who is asked, where it is somebody in particular. */
  readonly assignee?: string;
  /** When it was asked, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Written with the events, in their transaction, so that no log has to be folded to find what is open. */
const TABLE = 'reviews';

const MAX_WHAT = 2_000;

export const rowOf = (
  { review, action, target, what, because, at }: Omit<Review, 'input' | 'grants'>,
  session: string,
  agent: string,
  more: { readonly options?: string[]; readonly assignee?: string } = {},
): TableWrite => ({
  table: TABLE,
  key: review,
  value: { session, agent, action, target, what: clip(what, MAX_WHAT), because, at, ...more },
});

export const withoutRow = (review: string): TableWrite => ({ table: TABLE, key: review, value: undefined });

/** Reviews that are listed at a time. */
const MAX_LISTED = 1_000;

/** What waits for a person, over all sessions of the store, oldest first. */
export async function listReviews(
  { tables }: Pick<Store, 'tables'>,
  limit = MAX_LISTED,
): Promise<readonly OpenReview[]> {
  const keys = await tables.keys(TABLE, { limit: Math.min(limit, MAX_LISTED) });
  const rows = await Promise.all(keys.map(async (key) => readRow(key, await tables.get(TABLE, key))));
  return rows.flatMap((row) => row ?? []); // one that was answered meanwhile is gone
}

export const findReview = async (
  { tables }: Pick<Store, 'tables'>,
  review: string,
): Promise<OpenReview | undefined> => readRow(review, await tables.get(TABLE, review));

const readRow = (review: string, value: Json | undefined): OpenReview | undefined =>
  value === undefined ? undefined : { review, ...(value as unknown as Omit<OpenReview, 'review'>) };
