import type { FeedKeeper, FeedView } from '../../feeds/feed.ts';
import { type Feed, isOwnFeed } from '../../feeds/feed.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { feed as feedSchema } from '../../manifest/schema/feed.ts';
import { runSchema } from '../../manifest/schema/run-schema.ts';

/** Implements the internal actions on feeds. */
export interface FeedService {
  add(written: JsonObject): Promise<Json>;
  update(changes: JsonObject): Promise<Json>;
  remove(id: string): Json;
  list(): Json;
  read(id: string, refresh: boolean, signal: AbortSignal): Promise<Json>;
}

export interface FeedServiceDeps {
  readonly keeper: FeedKeeper;
  /** Throws if it is not a valid definition. */
  readonly read: (written: JsonObject) => Feed;
  /** Why the model may not have such a feed. Undefined if it may. */
  readonly mayAdd: (feed: Feed) => Promise<RuntimeError | undefined>;
  /** What a `$name` refers to already, because a feed of that name would hide it. */
  readonly isTaken: (name: string) => string | undefined;
}

/** The author of feeds that are added by actions. */
export const MODEL = 'model';

export function createFeedService({ keeper, read, mayAdd, isTaken }: FeedServiceDeps): FeedService {
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
      // Adding the same feed again changes nothing.
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

const MAX_ISSUES = 5;
/** The maximum size of a definition that a model writes. */
const MAX_DEFINITION_CHARS = 16 * 1024;

/**
 * Checks a feed definition with the schema of manifests. A definition without a source gets the source of
 * `declared`, the manifest's own feed. Throws `bad_feed`.
 */
export function readDefinition(written: JsonObject, declared?: Feed): Feed {
  const chars = JSON.stringify(written).length;
  if (chars > MAX_DEFINITION_CHARS)
    throw badFeed([`It has ${chars} characters; ${MAX_DEFINITION_CHARS} are allowed.`]);
  const whole =
    declared === undefined || written.source !== undefined
      ? written
      : { ...written, source: plain(declared).source ?? null };
  const { output, issues } = runSchema(feedSchema, whole);
  if (issues.length > 0)
    throw badFeed(
      issues
        .slice(0, MAX_ISSUES)
        .map(
          ({ message, hint, path }) => `${path.join('.')}: ${message}${hint === undefined ? '' : ` ${hint}`}`,
        ),
    );
  if (!isOwnFeed(output))
    throw badFeed(["Parts of the prompt that the runtime makes itself are the manifest's to switch off."]);
  if (output.type === 'periodic' && output.interval === undefined)
    throw badFeed(['interval: A periodic feed needs "interval": how often it is loaded, like 30s.']);
  if (output.type !== 'periodic' && output.interval !== undefined)
    throw badFeed(['interval: Only a periodic feed has "interval".']);
  return output;
}

/**
 * A feed of the manifest as a definition, without its source. The source may hold keys, which must not reach
 * the model or the log.
 */
export function writtenFeed(feed: Feed): JsonObject {
  const { source: _, ...written } = plain(feed);
  for (const key of ['interval', 'cache_ttl'] as const) {
    const length = feed[key];
    if (length !== undefined) written[key] = length.ms / 1000;
  }
  return written;
}

const plain = (feed: Feed) => JSON.parse(JSON.stringify(feed)) as Record<string, Json>;

/** Merges changes into a definition. `source` is merged by key if its type stays the same. */
function changedDefinition(before: JsonObject, changes: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before, ...changes };
  const source = before.source;
  const given = changes.source;
  if (source === undefined && isJsonObject(given) && given.type === undefined)
    throw badFeed(['source: That of a feed of the manifest is changed as a whole: give its "type", too.']);
  if (isJsonObject(source) && isJsonObject(given) && (given.type === undefined || given.type === source.type))
    merged.source = { ...source, ...given };
  if (changes.type === 'on_demand' && changes.interval === undefined) delete merged.interval;
  return merged;
}

const badFeed = (problems: readonly string[]) =>
  new RuntimeError('bad_feed', `The feed cannot be taken: ${problems.join(' ')}`, {
    hint: 'Write it as {"id", "type", "source": {"type", "name" or "action", "params"}, "interval", "cache_ttl", "max_tokens", "inject"}.',
  });
