import type { SessionEvent } from '../../../../../telltale/src/events/event.ts';
import type { LiveSpeech } from './live-speech.ts';
import { itemOf } from './stream-item-of.ts';
import type { StreamItem } from './stream-items.ts';
import type { Waterfall } from './waterfall.ts';

/** The conversation of a session, of all the log there is. */
export interface Stream {
  /** Behind the waterfall, which knows the rows. */
  add(event: SessionEvent): void;
  readonly items: readonly StreamItem[];
  /** Where a thought of that depth is told that closes now: in front of what stands inside of it. */
  placeOfThought(depth: number, turn: number): number;
}

export function createStream(waterfall: Waterfall): Stream {
  const items: StreamItem[] = [];
  /** By depth: what stands before it belongs to a thought that has closed. */
  let claimed: number[] = [];

  /**
   * A thought is on the log when it closes, behind the actions and thoughts that stand inside of it: it is told in front
   * of them, where it began.
   */
  const placeOfThought = (depth: number, turn: number): number => {
    let least = 0;
    for (let outer = 0; outer <= depth; outer++) least = Math.max(least, claimed[outer] ?? 0);
    let place = items.length;
    for (let at = items.length - 1; at >= least; at--) {
      const item = items[at];
      if (item === undefined || item.turn !== turn || item.kind === 'turn') break;
      if (item.kind === 'response' || item.kind === 'text') break;
      if (item.kind === 'thought') {
        if (item.depth <= depth) break;
        place = at;
      } else if (item.kind === 'action') {
        if (item.row.action.in !== 'thought') break;
        place = at;
      }
    }
    return place;
  };

  return {
    add(event) {
      const item = itemOf(event, waterfall);
      if (item === undefined) return;
      if (item.kind !== 'thought') {
        items.push(item);
        return;
      }
      items.splice(placeOfThought(item.depth, item.turn), 0, item);
      claimed = claimed.slice(0, item.depth);
      claimed[item.depth] = items.length;
    },
    ...{ items, placeOfThought },
  };
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

/** Items from `first` on, with what has come of elements that are not on the log yet where they will stand. */
export function withLive(
  { items, placeOfThought }: Stream,
  { turn, thoughts, response }: LiveSpeech,
  { first, at }: { readonly first: number; readonly at: number },
): readonly StreamItem[] {
  const all = items.slice(first);
  let before = 0;
  for (const { depth, text } of thoughts) {
    if (text.trim() === '') continue;
    const place = Math.max(0, placeOfThought(depth, turn) - first) + before;
    all.splice(place, 0, { kind: 'thought', seq: 0, at, turn, depth, text, open: true });
    before++;
  }
  if (response.trim() !== '') all.push({ kind: 'response', seq: 0, at, turn, text: response, final: 'open' });
  return all;
}
