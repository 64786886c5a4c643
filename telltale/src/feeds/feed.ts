import type { Json, JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';

type AnyFeed = AgentManifest['context_feeds'][number];

/** A feed with a source of its own, as the manifest's schema reads it. */
export type Feed = Extract<AnyFeed, { readonly source: unknown }>;

export const isOwnFeed = (feed: AnyFeed): feed is Feed => 'source' in feed;

export type FeedSource = Feed['source'];

/** One load of a source. */
export interface SourceCall {
  readonly feed: Feed;
  /** The source's params, their `$references` resolved. */
  readonly params: JsonObject;
  /** Aborted when the value is no longer wanted; the load must then end soon. */
  readonly signal: AbortSignal;
}

/** Asks a feed's source once. Rejects with a RuntimeError. The value is JSON of bounded size, not yet transformed. */
export type LoadSource = (call: SourceCall) => Promise<Json>;
