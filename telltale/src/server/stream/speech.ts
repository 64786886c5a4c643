import type { LiveSnapshot } from '../../client/client.ts';
import type { ObservedEvent } from '../../events/event.ts';

/** What is kept of one open thought or response, in characters; of a longer one, its end. */
const MAX_KEPT = 256 * 1024;

/** What a session has said of elements that are still open: for whoever joins in the middle. */
export interface Speech {
  take(event: ObservedEvent): void;
  /** Undefined where nothing is open. */
  snapshot(): LiveSnapshot | undefined;
}

export function createSpeech(session: string): Speech {
  const thoughts = new Map<number, string>();
  let response = '';
  let turn = 0;

  const begin = (next: number) => {
    turn = next;
    thoughts.clear();
    response = '';
  };

  return {
    take(event) {
      switch (event.type) {
        case 'response.delta':
          if (event.turn !== turn) begin(event.turn);
          response = bounded(response + event.text);
          return;
        case 'thought.delta':
          if (event.turn !== turn) begin(event.turn);
          thoughts.set(event.depth, bounded((thoughts.get(event.depth) ?? '') + event.text));
          return;
        case 'thought':
          for (const depth of thoughts.keys()) if (depth >= event.depth) thoughts.delete(depth);
          return;
        case 'response':
          response = '';
          return;
        case 'turn.completed':
        case 'turn.failed':
          thoughts.clear(); // the response stays open until it is decided whether it is final
          return;
        case 'turn.started':
        case 'session.completed':
        case 'session.failed':
        case 'session.stalled':
        case 'session.cancelled':
        case 'session.resumed':
          begin(event.turn);
          return;
        default: // the rest says nothing of speech
      }
    },
    snapshot() {
      if (response === '' && thoughts.size === 0) return undefined;
      const open = [...thoughts].map(([depth, text]) => ({ depth, text: text.slice(-MAX_KEPT) }));
      return {
        ...{ type: 'live.snapshot', session, turn, response: response.slice(-MAX_KEPT) },
        thoughts: open.toSorted((a, b) => a.depth - b.depth),
      };
    },
  };
}

/** Cut now and then, not with every piece. */
const bounded = (text: string) => (text.length > 2 * MAX_KEPT ? text.slice(-MAX_KEPT) : text);
