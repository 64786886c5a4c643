import { FEED_LATE, type FeedNews } from '../events/feed-event.ts';
import { feedText } from '../kernel/feed-text.ts';
import { clip } from './cut-text.ts';
import { type Escape, escapeAttribute } from './escape.ts';
import { MAX_ERROR_SHOWN, MAX_NAME_SHOWN } from './limits.ts';
import { errorText } from './result-text.ts';

/** Feeds that have something new, each in a tag of its own. What a source gives cannot close it. */
export function renderFeeds(feeds: readonly FeedNews[], { safe }: { readonly safe: Escape }): string {
  return feeds.map((news) => renderFeed(news, safe)).join('\n\n');
}

function renderFeed(news: FeedNews, safe: Escape): string {
  const id = `id="${escapeAttribute(clip(news.id, MAX_NAME_SHOWN))}"`;
  const age = news.ageMs === undefined || news.ageMs < SHOWN_FROM_MS ? '' : ` age="${ageText(news.ageMs)}"`;
  if (news.kind === 'value') {
    const more =
      news.truncated === undefined ? '' : `\n[… about ${news.truncated} tokens more are left out …]`;
    return `<context_feed ${id}${age}>\n${safe(feedText(news.value))}${more}\n</context_feed>`;
  }
  const why = safe(clip(errorText(news.error), MAX_ERROR_SHOWN));
  if (news.error.code === FEED_LATE) return `<context_feed ${id} status="late">${why}</context_feed>`;
  return news.ageMs === undefined
    ? `<context_feed ${id} status="failed">${why}</context_feed>`
    : `<context_feed ${id} status="stale"${age}>What was shown of it last still stands, but could not be renewed: ${why}</context_feed>`;
}

/** Anything younger is of this moment. */
const SHOWN_FROM_MS = 1_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One unit says enough: `12s`, `3m`, `2h`, `4d`. */
function ageText(ageMs: number): string {
  const seconds = Math.round(ageMs / 1000);
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)}m`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)}h`;
  return `${Math.round(seconds / DAY)}d`;
}
