import type { LiveEvent, ObservedEvent } from '../log/event.ts';
import { speakerOf } from '../log/fold-handoffs.ts';

/** What the model has said of elements that are still open. */
export interface OpenSpeech {
  readonly turn: number;
  /** From the outermost to the innermost. */
  readonly thoughts: readonly { readonly depth: number; readonly text: string }[];
  /** What has gone out of responses that are not on the log yet. */
  readonly response: string;
  /** The agent that speaks, where the conversation has moved to another one. */
  readonly speaker?: string;
}

/** What is shown of one text that is open to whoever joins in the middle, in characters; of a longer one, its end. */
export const MAX_SHOWN = 256 * 1024;

export const speakerIn = ({ speaker }: { readonly speaker?: string }): { readonly speaker?: string } =>
  speaker === undefined ? {} : { speaker };

/** Knows what was told of elements that are open. Pure but for its own memory. */
export interface SpeechSoFar {
  note(event: ObservedEvent): void;
  /** Undefined where nothing is open. */
  open(): OpenSpeech | undefined;
  /** Deltas of what is open and was not told. Nothing of an element of which something else was told: the log has it. */
  missing(session: string, open: OpenSpeech): readonly LiveEvent[];
}

export function createSpeechSoFar(): SpeechSoFar {
  const thoughts = new Map<number, string>();
  let response = '';
  let turn = 0;
  let speaker: string | undefined;

  const close = (from: number) => {
    for (const depth of thoughts.keys()) if (depth >= from) thoughts.delete(depth);
  };
  const isSpeaking = (action: string): boolean => speaker !== undefined && speakerOf(action) === speaker;
  const closeAll = () => {
    close(0);
    response = '';
  };
  const responded = (text: string) => {
    response = response.startsWith(text) ? response.slice(text.length) : '';
  };
  return {
    note(event) {
      switch (event.type) {
        case 'thought.delta':
        case 'response.delta':
          if (event.speaker !== speaker) closeAll();
          turn = event.turn;
          speaker = event.speaker;
          if (event.type === 'response.delta') {
            response += event.text;
            return;
          }
          close(event.depth + 1);
          thoughts.set(event.depth, (thoughts.get(event.depth) ?? '') + event.text);
          return;
        case 'thought':
          return close(event.depth);
        case 'response':
          return responded(event.text);
        case 'child.thought':
          if (isSpeaking(event.action)) close(event.event.depth);
          return;
        case 'child.response':
          if (isSpeaking(event.action)) responded(event.event.text);
          return;
        case 'turn.started':
        case 'turn.failed':
        case 'handoff':
          return closeAll();
        case 'child.turn.started':
        case 'child.turn.failed':
          if (isSpeaking(event.action)) closeAll();
          return;
        default:
          return;
      }
    },
    open() {
      if (response === '' && thoughts.size === 0) return undefined;
      const told = [...thoughts].map(([depth, text]) => ({ depth, text }));
      return { turn, thoughts: told, response, ...(speaker === undefined ? {} : { speaker }) };
    },
    missing(session, open) {
      const isSame = open.speaker === speaker;
      const place = { session, turn: open.turn, ...speakerIn(open) };
      const deltas = open.thoughts.flatMap(({ depth, text }): readonly LiveEvent[] => {
        const rest = behind(isSame ? (thoughts.get(depth) ?? '') : '', text);
        return rest === '' ? [] : [{ type: 'thought.delta', ...place, depth, text: rest }];
      });
      const rest = behind(isSame ? response : '', open.response);
      return rest === '' ? deltas : [...deltas, { type: 'response.delta', ...place, text: rest }];
    },
  };
}

const behind = (told: string, whole: string): string =>
  whole.startsWith(told) ? whole.slice(told.length) : '';
