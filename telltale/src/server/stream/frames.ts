import type { LiveSnapshot } from '../../client/client.ts';
import type { LiveEvent } from '../../events/live-event.ts';
import { MAX_SHOWN, type OpenSpeech } from '../../session/speech.ts';

/** The first bytes of every stream: how soon a browser that lost it comes back. */
export const BEGINNING = 'retry: 1000\n\n';
export const KEEP_ALIVE = ': still here\n\n';
/** Nothing will come any more. */
export const END = 'event: end\ndata: {}\n\n';

/** What the server says of the stream itself. `ready`: from here on no headline is missed. */
export type Notice =
  | { readonly kind: 'ready' }
  /** The client was too slow, and may come back at once. */
  | { readonly kind: 'dropped'; readonly reason: string }
  /** It may come back, but not at once. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'closing' };

export const noticeFrame = (notice: Notice): string => `event: notice\ndata: ${JSON.stringify(notice)}\n\n`;

/** An event on the log. Without an `event:` field, so that `onmessage` of an EventSource hears it. */
export const eventFrame = (seq: number, json: string): string => `id: ${seq}\ndata: ${json}\n\n`;

/** An event that is not resumed from: it leaves the client's last id as it is. */
export const plainFrame = (json: string): string => `data: ${json}\n\n`;

/** For whoever joins in the middle, and for whoever missed deltas: it stands for all deltas before it. */
export function snapshotFrame(session: string, { turn, thoughts, response }: OpenSpeech): string {
  const snapshot: LiveSnapshot = {
    type: 'live.snapshot',
    session,
    turn,
    thoughts: thoughts.map(({ depth, text }) => ({ depth, text: text.slice(-MAX_SHOWN) })),
    response: response.slice(-MAX_SHOWN),
  };
  return plainFrame(JSON.stringify(snapshot));
}

/** Deltas come by the thousand, and are put together by hand: half the time of a `JSON.stringify` of the whole. */
export function createLiveFrame(session: string): (event: LiveEvent) => string {
  const place = `,"session":${JSON.stringify(session)},"turn":`;
  const response = `data: {"type":"response.delta"${place}`;
  const thought = `data: {"type":"thought.delta"${place}`;
  return (event) => {
    switch (event.type) {
      case 'response.delta':
        return `${response}${event.turn},"text":${JSON.stringify(event.text)}}\n\n`;
      case 'thought.delta':
        return `${thought}${event.turn},"depth":${event.depth},"text":${JSON.stringify(event.text)}}\n\n`;
      case 'action.progress':
        return plainFrame(JSON.stringify(event));
    }
  };
}
