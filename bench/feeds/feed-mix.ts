export type MixKind =
  | 'none'
  | 'none, metadata changes'
  | 'unused'
  | 'unused, metadata changes'
  | 'unchanged'
  | 'changing';

/** Feeds of an agent that costs are compared for. */
export interface FeedMix {
  readonly kind: MixKind;
  readonly name: string;
  /** As the manifest has them under `context_feeds`, one each. */
  readonly feeds: readonly string[];
  /** Each turn also changes a field of the metadata. */
  readonly metadata: boolean;
  /** Blocks of feeds that the first turn shows, and every later one. */
  readonly shown: { readonly first: number; readonly later: number };
}

const CONSTANT = 'source: { type: internal, action: random, params: { choices: [on] } }';
const CHANGING = 'source: { type: internal, action: random, params: { uuid: true } }';

/** The ways in which a feed is there and has nothing to do with a turn, in turns. */
const UNUSED: readonly ((id: string) => string)[] = [
  (id) => `{ id: ${id}, enabled: false, ${CHANGING} }`,
  (id) => `{ id: ${id}, enabled: "metadata.mode == '${id}'", ${CHANGING} }`,
  (id) => `{ id: ${id}, inject: reference, ${CHANGING} }`,
  (id) => `{ id: ${id}, inject: start, ${CONSTANT} }`,
];

const listed = (count: number, write: (id: string, index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => write(`feed_${index}`, index));

const NOTHING = { first: 0, later: 0 };

export const noFeeds = (metadata: boolean): FeedMix => ({
  kind: metadata ? 'none, metadata changes' : 'none',
  name: metadata ? 'none, metadata changes' : 'none',
  feeds: [],
  metadata,
  shown: NOTHING,
});

/** A quarter each: switched off, switched off by an expression, only by reference and never named, shown at the start. */
export const unusedFeeds = (count: number, metadata: boolean): FeedMix => ({
  kind: metadata ? 'unused, metadata changes' : 'unused',
  name: `${count.toLocaleString('en-US')} not used${metadata ? ', metadata changes' : ''}`,
  feeds: listed(count, (id, index) => UNUSED[index % UNUSED.length]!(id)),
  metadata,
  shown: { first: Math.floor(count / UNUSED.length), later: 0 },
});

/** In use: shown whenever they change, which they do not. */
export const unchangedFeeds = (count: number): FeedMix => ({
  kind: 'unchanged',
  name: `${count.toLocaleString('en-US')} shown once, cached for an hour`,
  feeds: listed(count, (id) => `{ id: ${id}, cache_ttl: 1h, ${CONSTANT} }`),
  metadata: false,
  shown: { first: count, later: 0 },
});

export const changingFeeds = (count: number): FeedMix => ({
  kind: 'changing',
  name: `${count.toLocaleString('en-US')} that change every turn`,
  feeds: listed(count, (id) => `{ id: ${id}, ${CHANGING} }`),
  metadata: false,
  shown: { first: count, later: count },
});
