import type { FeedSource } from './feed.ts';
import type { FeedEntry } from './feed-entry.ts';
import type { FeedReading, FeedView } from './keeper.ts';

/** A feed at the time `now`, as lists show it. */
export function viewOf({ feed, by, enabled, enabledError, value, row }: FeedEntry, now: number): FeedView {
  const error = row?.error.toJSON() ?? enabledError;
  return {
    id: feed.id,
    type: feed.type,
    source: sourceText(feed.source),
    inject: feed.inject,
    enabled,
    ...(feed.interval === undefined ? {} : { intervalMs: feed.interval.ms }),
    by,
    ...(value === undefined ? {} : { tokens: value.tokens, ageMs: Math.max(0, now - value.loadedAt) }),
    ...(error === undefined ? {} : { error }),
  };
}

/** `tool "git_log"`, `relic "log" query`, `internal system_clock`. */
export function sourceText(source: FeedSource): string {
  const named = 'name' in source ? source.name : undefined;
  const name = named === undefined ? '' : ` "${source.type === 'http' ? withoutSecrets(named) : named}"`;
  const action = 'action' in source && source.action !== undefined ? ` ${source.action}` : '';
  return source.type + name + action;
}

/** An address as far as it can hold no key: lists are read by models, too. */
function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return '…';
  const { protocol, host, pathname, search } = new URL(address);
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`;
}

/** A value at the time `now`, as a reader gets it. */
export const readingOf = (
  id: string,
  value: NonNullable<FeedEntry['value']>,
  now: number,
  cached: boolean,
): FeedReading => ({
  id,
  value: value.value,
  tokens: value.tokens,
  ...(value.truncated === undefined ? {} : { truncated: value.truncated }),
  ageMs: Math.max(0, now - value.loadedAt),
  ...(cached ? { cached } : {}),
});
