import type { News } from '../events/news.ts';
import { FRAME_BREAK, FRAME_MARK } from '../kernel/call-frames.ts';
import { repeatedEnd } from '../kernel/repetition.ts';
import { cutText, wholeEnd } from './cut-text.ts';
import { REPEATS, TURN_TOO_LONG } from './own-words.ts';

const FLOODS: ReadonlySet<string> = new Set([REPEATS, TURN_TOO_LONG, 'body_too_large']);

/** Characters that are shown of what was too long to be read. */
const MAX_SHOWN = 16 * 1024;
/** Of a repetition: enough to see what it is. */
const MAX_REPEATED_SHOWN = 512;

/**
 * What a model said in a turn, without most of what it was cut off for: shown again, that would fill the window, and the
 * model would go on with it. `faults` are those of the turn. Calls that are whole stay.
 */
export function withoutFlood(said: string, faults: News['faults']): string {
  if (said.length <= MAX_SHOWN || !faults.some(({ code }) => FLOODS.has(code))) return said;
  const mark = said.lastIndexOf(FRAME_MARK);
  const from = mark === -1 ? 0 : said.indexOf(FRAME_BREAK, mark) + 1;
  if (from === 0 && mark !== -1) return said;
  return said.slice(0, from) + shortened(said.slice(from));
}

function shortened(text: string): string {
  const repeated = repeatedEnd(text);
  if (repeated !== undefined) {
    const { from, period } = repeated;
    const shown = wholeEnd(text, Math.min(text.length, from + Math.max(period, MAX_REPEATED_SHOWN)));
    return cutMiddle(text.slice(0, shown)) + leftOut('the same again and again', text.length - shown);
  }
  return cutMiddle(text);
}

function cutMiddle(text: string): string {
  const { head, tail, omitted } = cutText(text, MAX_SHOWN);
  return omitted === 0 ? text : head + leftOut('left out here', omitted) + tail;
}

const leftOut = (what: string, characters: number): string =>
  `\n[… ${characters.toLocaleString('en')} characters, ${what} …]\n`;
