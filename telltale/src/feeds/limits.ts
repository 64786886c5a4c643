/** Feeds that a session may have beside those of its manifest. */
export const MAX_ADDED_FEEDS = 50;

/** Sources of one session that are asked at the same time; the others wait for their turn. */
export const MAX_LOADS = 16;

/** Tokens of values that one turn shows. What has no room in it can be read, and is shown once there is room. */
const MAX_SHOWN_TOKENS = 32_000;

/** Of a small context window they may take this much: a turn with its results has to fit in beside them. */
const WINDOW_SHARE = 0.25;

/** Tokens of values that one turn shows to a model with such a window; undefined where nobody knows it. */
export const shownTokens = (contextWindow: number | undefined): number =>
  contextWindow === undefined
    ? MAX_SHOWN_TOKENS
    : Math.min(MAX_SHOWN_TOKENS, Math.floor(contextWindow * WINDOW_SHARE));

/** How long `close` waits for sources that were told to stop. */
export const CLOSE_WAIT_MS = 5_000;

/** A shorter interval counts as this: a source that answers at once must not keep the process busy. */
export const MIN_INTERVAL_MS = 100;

/** Where the waits of a failing on-demand feed begin and end; those of a periodic one go by its interval. */
export const FIRST_WAIT_MS = 1_000;
export const LAST_WAIT_MS = 300_000;
/** The longest wait of a periodic feed, in intervals. */
export const LAST_WAIT_INTERVALS = 10;
