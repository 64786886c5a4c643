import type { EventOf, SessionEvent } from '../../../../../telltale/src/events/event.ts';
import type { LiveSpeech } from './live-speech.ts';
import { itemOf } from './stream-item-of.ts';
import type { StreamItem } from './stream-items.ts';
import type { Waterfall } from './waterfall.ts';

/** The conversation of a session, of all the log there is. */
export interface Stream {
  /** Behind the waterfall, which knows the rows. */
  add(event: SessionEvent): void;
  readonly items: readonly StreamItem[];
}

export function createStream(waterfall: Waterfall): Stream {
  const items: StreamItem[] = [];
  return {
    add(event) {
      const item = itemOf(event, waterfall);
      if (item === undefined) return;
      if (item.kind === 'thought') items.splice(beginOfThought(items, event as EventOf<'thought'>), 0, item);
      else items.push(item);
    },
    items,
  };
}

/**
 * A thought is on the log when it closes, behind the actions and thoughts that stand inside of it: it is told in front of
 * them, where it began.
 */
function beginOfThought(items: readonly StreamItem[], { depth, turn }: EventOf<'thought'>): number {
  let begin = items.length;
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at];
    if (item === undefined || item.turn !== turn || item.kind === 'turn') break;
    if (item.kind === 'response' || item.kind === 'text') break;
    if (item.kind === 'thought') {
      if (item.depth <= depth) break;
      begin = at;
    } else if (item.kind === 'action') {
      if (item.row.action.in !== 'thought') break;
      begin = at;
    }
  }
  return begin;
}

/** The items up to an event. `items` itself where that is all of them. */
export function itemsUntil(items: readonly StreamItem[], seq: number): readonly StreamItem[] {
  let isWhole = true;
  for (let at = items.length - 1; at >= 0; at--)
    if ((items[at]?.seq ?? 0) > seq) {
      isWhole = false;
      break;
    }
  return isWhole ? items : items.filter((item) => item.seq <= seq);
}

/** What has come of elements that are not on the log yet, as items behind those that are. */
export function liveItems(speech: LiveSpeech, at: number): readonly StreamItem[] {
  const { turn, thoughts, response } = speech;
  const open: StreamItem[] = [];
  for (const { depth, text } of thoughts)
    if (text.trim() !== '') open.push({ kind: 'thought', seq: 0, at, turn, depth, text, open: true });
  if (response.trim() !== '')
    open.push({ kind: 'response', seq: 0, at, turn, text: response, final: 'open' });
  return open;
}
