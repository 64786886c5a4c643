/** What processes say to each other through NOTIFY. A payload is below the 8,000 bytes that PostgreSQL takes. */
export type WireMessage =
  /** Somebody is new, or (`again`) was cut off: what he sent or was sent meanwhile may be lost. */
  | { readonly kind: 'hello'; readonly peer: string; readonly again: boolean }
  | { readonly kind: 'bye'; readonly peer: string }
  /** A sign of life, with how many topics he listens to. */
  | { readonly kind: 'keep'; readonly peer: string; readonly topics: number }
  /** He would like to know all topics. */
  | { readonly kind: 'ask'; readonly peer: string }
  | {
      readonly kind: 'topics';
      readonly peer: string;
      readonly add: readonly string[];
      readonly remove: readonly string[];
    }
  /** Streams that have moved, with their last event and message, 0 where that is not news. */
  | { readonly kind: 'pokes'; readonly pokes: readonly Poke[] }
  | { readonly kind: 'ring'; readonly peer: string; readonly topic: string }
  /** Something that was sent was left out. */
  | { readonly kind: 'gap' }
  | { readonly kind: 'live'; readonly peer: string; readonly topic: string; readonly text: string };

export type Poke = readonly [stream: string, head: number, message: number];

/** Of UTF-8, for a payload; the limit is at 7,999. */
const MAX_PAYLOAD_BYTES = 7_900;
const LIVE = /^L(\d+) (\w+)\.\d+ /;

export const encodeMessage = (message: Exclude<WireMessage, { readonly kind: 'live' }>): string =>
  JSON.stringify(message);

/** `n` makes it another than the one before: PostgreSQL sends what is alike in one transaction once. */
export const encodeLive = (peer: string, topic: string, text: string, n: number): string =>
  `L${topic.length} ${peer}.${n} ${topic}${text}`;

/** Undefined for what cannot be read: another version may say more. */
export function decodeMessage(payload: string): WireMessage | undefined {
  const live = LIVE.exec(payload);
  if (live !== null) {
    const rest = payload.slice(live[0].length);
    const chars = Number(live[1]);
    return { kind: 'live', peer: live[2] ?? '', topic: rest.slice(0, chars), text: rest.slice(chars) };
  }
  try {
    return JSON.parse(payload) as WireMessage;
  } catch {
    return undefined;
  }
}

/**
 * Cuts a list so that each piece, as JSON, has room in a payload beside `envelope` bytes. An item that has none at all is
 * left out: a name of a thousand letters, each of which is six bytes as JSON. It is found by looking.
 */
export function inPayloads<T>(items: readonly T[], envelope = 200): readonly (readonly T[])[] {
  const pieces: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (size > MAX_PAYLOAD_BYTES - envelope) continue;
    if (bytes + size > MAX_PAYLOAD_BYTES - envelope) {
      pieces.push([]);
      bytes = 0;
    }
    bytes += size;
    pieces.at(-1)?.push(item);
  }
  return pieces;
}
