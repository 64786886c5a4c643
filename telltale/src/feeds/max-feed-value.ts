/** Bytes of a feed's value as JSON: what a source may give, and what a transformation may make of it. */
export const MAX_FEED_VALUE = 1024 * 1024;
