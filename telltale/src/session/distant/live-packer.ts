import type { LiveEvent } from '../../events/live-event.ts';
import { encodeItem, type LiveItem } from './live-message.ts';

/** Gathers what is told of a session, and packs it into messages that cross. Pure but for its own memory. */
export interface LivePacker {
  /** What has been gathered, in characters, about. */
  readonly length: number;
  /** Joins it to what stands last where both are one: pieces of one element, durable events in a row. */
  add(item: LiveItem): void;
  /** The messages of what was gathered, each below the limit, in order. */
  take(): readonly string[];
}

/** Characters of a piece: six bytes each at the most, escaped, which is below the limit of a message. */
const PIECE = 1_000;
/** Beside the items: the telling's name, two numbers, brackets. */
const FRAME_BYTES = 100;

/** `behind`: the durable event that what comes stands behind. `maxBytes`: of a message; `by` is at most 40 characters. */
export function createLivePacker(by: string, behind: number, maxBytes: number): LivePacker {
  let items: LiveItem[] = [];
  let n = 0;
  let place = behind;

  const packer: LivePacker & { length: number } = {
    length: 0,
    add(item) {
      const joined = joinedWith(items.at(-1), item);
      if (joined === undefined) items.push(item);
      else items[items.length - 1] = joined;
      packer.length += lengthOf(item);
    },
    take() {
      const texts: string[] = [];
      let body = '';
      let bytes = FRAME_BYTES;
      let from = place;
      const close = () => {
        if (body !== '') texts.push(`[${JSON.stringify(by)},${++n},${from},[${body}]]`);
        body = '';
        bytes = FRAME_BYTES;
        from = place;
      };
      for (const item of items.flatMap(inPieces)) {
        const text = encodeItem(item);
        const size = Buffer.byteLength(text) + 1;
        // What an action tells of itself may be of any size, and is nothing that anybody builds on.
        if (size + FRAME_BYTES > maxBytes) continue;
        if (bytes + size > maxBytes) close();
        body += body === '' ? text : `,${text}`;
        bytes += size;
        if (item.kind === 'durable') place = item.seq;
      }
      close();
      items = [];
      packer.length = 0;
      return texts;
    },
  };
  return packer;
}

const lengthOf = (item: LiveItem): number =>
  item.kind === 'live' && item.event.type !== 'action.progress' ? item.event.text.length : 1;

function joinedWith(last: LiveItem | undefined, item: LiveItem): LiveItem | undefined {
  if (last?.kind === 'durable' && item.kind === 'durable') return item;
  if (last?.kind !== 'live' || item.kind !== 'live') return undefined;
  const event = joinedDelta(last.event, item.event);
  return event === undefined ? undefined : { kind: 'live', event };
}

/** Two pieces of one element as one. */
function joinedDelta(last: LiveEvent, event: LiveEvent): LiveEvent | undefined {
  if (last.type === 'action.progress' || event.type === 'action.progress') return undefined;
  if (last.type !== event.type || last.turn !== event.turn) return undefined;
  const isOne =
    event.type === 'response.delta'
      ? event.final === (last as typeof event).final
      : event.depth === (last as typeof event).depth;
  return isOne ? { ...event, text: last.text + event.text } : undefined;
}

function inPieces(item: LiveItem): readonly LiveItem[] {
  if (item.kind !== 'live' || item.event.type === 'action.progress') return [item];
  const { event } = item;
  if (event.text.length <= PIECE) return [item];
  const pieces: LiveItem[] = [];
  for (let at = 0; at < event.text.length; ) {
    const end = at + PIECE - (isSurrogate(event.text.charCodeAt(at + PIECE - 1)) ? 1 : 0);
    pieces.push({ kind: 'live', event: { ...event, text: event.text.slice(at, end) } });
    at = end;
  }
  return pieces;
}

/** The first half of a character of two. */
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
