import type { FeedState } from '../../events/feed-event.ts';
import { BUILTIN_FEED } from '../../events/fold-feeds.ts';
import type { SessionState } from '../../events/state.ts';
import type { Palette } from '../../manifest/palette.ts';
import { brief } from './brief.ts';
import { errorText } from './describe-event.ts';
import { countText, spanText, timeText } from './figures.ts';

/** Feeds that are shown, at the most. */
const MAX_FEEDS = 50;

/** What a session's log knows of its feeds, a line each. */
export function feedLines(
  { feeds, off, at }: Pick<SessionState, 'feeds' | 'off' | 'at'>,
  room: number,
  paint: Palette,
): readonly string[] {
  const all = [
    ...[...feeds.values()].map((feed) => feedLine(feed, at, room, paint)),
    ...off.map((id) => `${id} ${paint.dim('(switched off)')}`),
  ];
  const more = all.length - MAX_FEEDS;
  return more > 0
    ? [...all.slice(0, MAX_FEEDS), paint.dim(`… ${countText(more, 'more feed')}: --json shows all`)]
    : all;
}

function feedLine(
  { id, by, removed, last, failing }: FeedState,
  at: number,
  room: number,
  paint: Palette,
): string {
  const name = id.startsWith(BUILTIN_FEED) ? id : `$${brief(id, room)}`;
  if (removed === true) return `${name} ${paint.dim('(removed)')}`;
  const notes = [
    ...(last === undefined
      ? ['no value yet']
      : [countText(last.tokens, 'token'), `loaded ${spanText(Math.max(0, at - last.loadedAt))} before`]),
    ...(by === undefined ? [] : [`by ${brief(by, room)}`]),
  ];
  const value = last === undefined ? '' : ` = ${brief(last.value, room)}`;
  const failure =
    failing === undefined ? '' : ` ${paint.red(`fails: ${brief(errorText(failing.error), room)}`)}`;
  return `${name}${value} ${paint.dim(`(${notes.join(', ')})`)}${failure}`;
}

/** The same for a script. */
export const feedJson = ({ id, definition, by, removed, last, failing }: FeedState) => ({
  id,
  ...(definition === undefined ? {} : { definition }),
  ...(by === undefined ? {} : { by }),
  ...(removed === true ? { removed } : {}),
  ...(last === undefined
    ? {}
    : {
        value: last.value,
        tokens: last.tokens,
        ...(last.truncated === undefined ? {} : { truncated: last.truncated }),
        loaded: timeText(last.loadedAt),
      }),
  ...(failing === undefined
    ? {}
    : { failing: { error: failing.error, times: failing.times, since: timeText(failing.since) } }),
});
