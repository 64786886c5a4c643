import type { Feed } from '../../feeds/feed.ts';
import type { FeedKeeper, FeedView } from '../../feeds/keeper.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { changedDefinition } from './read-definition.ts';

/** What internal actions do with feeds. */
export interface FeedDesk {
  add(written: JsonObject): Promise<Json>;
  update(changes: JsonObject): Promise<Json>;
  remove(id: string): Json;
  list(): Json;
  read(id: string, refresh: boolean, signal: AbortSignal): Promise<Json>;
}

export interface FeedDeskDeps {
  readonly keeper: FeedKeeper;
  /** Throws where it is no definition. */
  readonly read: (written: JsonObject) => Feed;
  /** Why the model may not have such a feed; undefined where it may. */
  readonly mayAdd: (feed: Feed) => Promise<RuntimeError | undefined>;
  /** What else a `$name` may stand for: a feed of that name would hide it. */
  readonly isTaken: (name: string) => string | undefined;
}

/** Who adds feeds by actions. */
export const MODEL = 'model';

export function createFeedDesk({ keeper, read, mayAdd, isTaken }: FeedDeskDeps): FeedDesk {
  const checked = async (written: JsonObject): Promise<Feed> => {
    const feed = read(written);
    const refusal = await mayAdd(feed);
    if (refusal !== undefined) throw refusal;
    return feed;
  };
  return {
    async add(given) {
      const written = periodicIfTimed(given);
      const feed = await checked(written);
      const taken = isTaken(feed.id);
      if (taken !== undefined) throw nameTaken(feed.id, taken);
      // The same again, after a crash or a second thought, changes nothing.
      const known = keeper.definition(feed.id);
      if (known === undefined || !isSame(known, written)) keeper.add(feed, written, MODEL);
      return { id: feed.id, added: true };
    },
    async update(changes) {
      const id = String(changes.id);
      const before = keeper.definition(id);
      if (before === undefined) throw feedUnknown(id, keeper.list());
      const written = changedDefinition(before, periodicIfTimed(changes));
      if (!isSame(before, written)) keeper.update(id, await checked(written), written, MODEL);
      return { id, feed: written };
    },
    remove(id) {
      if (keeper.definition(id) === undefined) throw feedUnknown(id, keeper.list());
      keeper.remove(id, MODEL);
      return { id, removed: true };
    },
    list: () => ({ feeds: keeper.list().map(viewJson) }),
    async read(id, refresh, signal) {
      const { ageMs, truncated, ...reading } = await keeper.read(id, refresh, signal);
      return {
        ...reading,
        age_seconds: seconds(ageMs),
        ...(truncated === undefined ? {} : { tokens_left_out: truncated }),
      };
    },
  };
}

/** Only a periodic feed has an interval, so a model need not say both. */
const periodicIfTimed = (written: JsonObject): JsonObject =>
  written.interval === undefined || written.type !== undefined ? written : { ...written, type: 'periodic' };

const viewJson = ({ intervalMs, ageMs, error, ...view }: FeedView): JsonObject => ({
  ...view,
  ...(intervalMs === undefined ? {} : { interval: seconds(intervalMs) }),
  ...(ageMs === undefined ? {} : { age_seconds: seconds(ageMs) }),
  ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
});

const seconds = (ms: number) => Math.round(ms) / 1000;

const isSame = (one: JsonObject, other: JsonObject): boolean => JSON.stringify(one) === JSON.stringify(other);

const nameTaken = (id: string, by: string) =>
  new RuntimeError('feed_exists', `No feed can have the id "${id}": $${id} stands for ${by}.`, {
    hint: 'Choose another id.',
  });

const feedUnknown = (id: string, feeds: readonly FeedView[]) =>
  new RuntimeError('feed_unknown', `There is no feed "${id}".`, {
    hint: suggest(
      id,
      feeds.map((feed) => feed.id),
      'Feeds',
    ),
  });
