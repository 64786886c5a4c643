import { resolveReferences } from '../conditions/references/resolve-references.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { stopWith } from '../kernel/stop-with.ts';
import type { Feed } from './feed.ts';
import type { FeedDeps, SharedValue } from './feed-edges.ts';
import { badParams, gaveNothing, loadTimedOut } from './feed-errors.ts';
import { until } from './load-slots.ts';
import { sharedFor, shareKey } from './share-key.ts';

/**
 * A source's params with their references resolved: `$name` is a feed, or else what `lookup` knows; `{{name}}` inside a
 * text is a feed.
 */
export function resolveParams(
  feed: Feed,
  feeds: ReadonlyMap<string, Json>,
  lookup: (name: string) => Json | undefined,
): JsonObject {
  const inserted = (name: string) => feeds.get(name);
  const whole = (name: string) => (feeds.has(name) ? feeds.get(name) : lookup(name));
  const resolved = resolveReferences(feed.source.params, { whole, inserted });
  if (!resolved.ok) throw badParams(feed.id, resolved.error.message, resolved.error.hint);
  return resolved.value.value as JsonObject;
}

export interface LoadRequest {
  readonly feed: Feed;
  readonly params: JsonObject;
  readonly controller: AbortController;
  /** Ask the source, whatever sessions share. */
  readonly refresh: boolean;
  /** Hears of everything that was begun and may outlast the load. */
  readonly track: (work: Promise<unknown>) => void;
}

type LoadDeps = Pick<FeedDeps, 'load' | 'prepare' | 'cache' | 'clock' | 'loadTimeoutMs'>;

/**
 * One value of a source, from what sessions share or from the source itself. Rejects once the controller is aborted or
 * the time for a load is over, whatever the source does then.
 */
export async function loadValue(
  { feed, params, controller, refresh, track }: LoadRequest,
  deps: LoadDeps,
): Promise<SharedValue & { readonly cached?: true }> {
  const { clock, loadTimeoutMs } = deps;
  const { signal } = controller;
  /** Asks, unless it was stopped already; what throws at once is a rejection like any other. */
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const work = begin(question);
    track(work);
    return until(signal, work);
  };
  const ttlMs = sharedFor(feed);
  const key = ttlMs === undefined ? undefined : shareKey(feed, params);
  const disarm = clock.after(loadTimeoutMs, () => stopWith(controller, loadTimedOut(feed.id, loadTimeoutMs)));
  try {
    if (key !== undefined && !refresh) {
      const shared = await ask(() => begin(() => deps.cache.get(key)).catch(asMiss));
      const age = shared === undefined ? -1 : clock.now() - shared.loadedAt;
      if (shared !== undefined && age >= 0 && age < (ttlMs ?? 0)) return { ...shared, cached: true };
    }
    const raw: Json | undefined = await ask(() => deps.load({ feed, params, signal }));
    if (raw === undefined) throw gaveNothing(feed.id);
    const loadedAt = clock.now();
    const { value, tokens, truncated } = await ask(() => deps.prepare(feed, raw));
    const made = { value, tokens, ...(truncated === undefined ? {} : { truncated }), loadedAt };
    // Nobody waits for this; if it fails, the next session asks the source itself.
    if (key !== undefined) track(begin(() => deps.cache.set(key, made, ttlMs ?? 0)));
    return made;
  } finally {
    disarm();
  }
}

const begin = async <T>(question: () => Promise<T>): Promise<T> => question();

/** A cache that cannot be read is one that has nothing: the source is asked. */
const asMiss = (): undefined => undefined;
