import type { ObservedEvent } from '../../events/event.ts';
import type { LiveEvent } from '../../events/live-event.ts';
import type { OpenSpeech } from '../speech.ts';

/** Knows what a follower was told of elements that are open, and what it lacks. Pure but for its own memory. */
export interface SpeechSoFar {
  note(event: ObservedEvent): void;
  /** Deltas of what is open and was not told. Nothing of an element of which something else was told: the log has it. */
  missing(session: string, open: OpenSpeech): readonly LiveEvent[];
}

export function createSpeechSoFar(): SpeechSoFar {
  const thoughts = new Map<number, string>();
  let response = '';

  const close = (from: number) => {
    for (const depth of thoughts.keys()) if (depth >= from) thoughts.delete(depth);
  };
  return {
    note(event) {
      switch (event.type) {
        case 'thought.delta':
          close(event.depth + 1);
          thoughts.set(event.depth, (thoughts.get(event.depth) ?? '') + event.text);
          return;
        case 'response.delta':
          response += event.text;
          return;
        case 'thought':
          return close(event.depth);
        case 'response':
          response = response.startsWith(event.text) ? response.slice(event.text.length) : '';
          return;
        case 'turn.started':
        case 'turn.failed':
          close(0);
          response = '';
          return;
        default:
          return;
      }
    },
    missing(session, open) {
      const place = { session, turn: open.turn };
      const deltas = open.thoughts.flatMap(({ depth, text }): readonly LiveEvent[] => {
        const rest = behind(thoughts.get(depth) ?? '', text);
        return rest === '' ? [] : [{ type: 'thought.delta', ...place, depth, text: rest }];
      });
      const rest = behind(response, open.response);
      return rest === '' ? deltas : [...deltas, { type: 'response.delta', ...place, text: rest }];
    },
  };
}

const behind = (told: string, whole: string): string =>
  whole.startsWith(told) ? whole.slice(told.length) : '';
