import type { ObservedEvent } from '../../../events/event.ts';
import { speakerOf } from '../../../events/fold-handoffs.ts';

export type Voice = 'thought' | 'response';

/** What a protocol tells of what the agent says: elements that open, grow and close. */
export type SpeechBeat =
  /** `meant`: its opening tag means it to be the final response. */
  | {
      readonly kind: 'open';
      readonly voice: Voice;
      readonly id: string;
      readonly meant: boolean;
      /** The agent that says it, where that is not the session's own. */
      readonly speaker?: string;
    }
  | { readonly kind: 'text'; readonly voice: Voice; readonly id: string; readonly text: string }
  /** `final`: all texts of the element together are the final response, to the letter. */
  | {
      readonly kind: 'close';
      readonly voice: Voice;
      readonly id: string;
      readonly final: boolean;
      readonly speaker?: string;
    };

/** Folds pieces of speech, and the events that hold the whole of it, into elements. Pure but for its own memory. */
export interface SpeechFold {
  take(event: ObservedEvent): readonly SpeechBeat[];
  /** Closes what is open: nothing more is said. */
  end(): readonly SpeechBeat[];
}

interface Open {
  readonly id: string;
  text: string;
}

/**
 * Pieces may be missing (a turn without tags has none), and the whole counts: an element is filled up from it, or, where
 * what was told is no beginning of it, closed and told anew. `joins`: the turn in hand began before; of its elements the
 * first pieces are not known, so they are told whole.
 */
export function createSpeechFold(joins = false): SpeechFold {
  /** By depth: those that are open, and those of which something was told. */
  const thoughts = new Map<number, Open>();
  const told = new Set<number>();
  let response: Open | undefined;
  let turn = 0;
  let elements = 0;
  let hears = !joins;

  const next = (voice: Voice): Open => ({
    id: `${turn}.${voice === 'thought' ? 't' : 'r'}${++elements}`,
    text: '',
  });
  const opened = (voice: Voice, { id }: Open, meant: boolean): SpeechBeat => ({
    kind: 'open',
    voice,
    id,
    meant,
  });
  const grown = (voice: Voice, { id }: Open, text: string): readonly SpeechBeat[] =>
    text === '' ? [] : [{ kind: 'text', voice, id, text }];
  const closed = (voice: Voice, { id }: Open, final: boolean): SpeechBeat => ({
    kind: 'close',
    voice,
    id,
    final,
  });
  const whole = (voice: Voice, text: string, final: boolean): readonly SpeechBeat[] => {
    const element = next(voice);
    return [opened(voice, element, final), ...grown(voice, element, text), closed(voice, element, final)];
  };

  const closeThoughts = (): readonly SpeechBeat[] => {
    // Innermost first.
    const open = [...thoughts].sort(([a], [b]) => b - a);
    thoughts.clear();
    return open.map(([, thought]) => closed('thought', thought, false));
  };
  const closeResponse = (): readonly SpeechBeat[] => {
    const open = response;
    response = undefined;
    return open === undefined ? [] : [closed('response', open, false)];
  };
  const endTurn = (): readonly SpeechBeat[] => {
    told.clear();
    return [...closeThoughts(), ...closeResponse()];
  };

  const think = (depth: number, text: string): readonly SpeechBeat[] => {
    told.add(depth);
    const open = thoughts.get(depth);
    if (open !== undefined) return grown('thought', open, text);
    const made = next('thought');
    thoughts.set(depth, made);
    return [opened('thought', made, false), ...grown('thought', made, text)];
  };
  const thought = (depth: number, text: string): readonly SpeechBeat[] => {
    const open = thoughts.get(depth);
    thoughts.delete(depth);
    const wasTold = told.delete(depth);
    if (open !== undefined) return [closed('thought', open, false)];
    return wasTold ? [] : whole('thought', text, false);
  };
  const respond = (text: string, meant: boolean): readonly SpeechBeat[] => {
    if (response !== undefined) {
      response.text += text;
      return grown('response', response, text);
    }
    // What a provider calls reasoning has no end of its own: it is over once the answer begins.
    const before = closeThoughts();
    response = next('response');
    response.text = text;
    return [...before, opened('response', response, meant), ...grown('response', response, text)];
  };
  const responded = (text: string, final: boolean): readonly SpeechBeat[] => {
    const open = response;
    response = undefined;
    if (open === undefined) return [...closeThoughts(), ...whole('response', text, final)];
    if (text.startsWith(open.text))
      return [...grown('response', open, text.slice(open.text.length)), closed('response', open, final)];
    return [closed('response', open, false), ...whole('response', text, final)];
  };

  return {
    take(event) {
      switch (event.type) {
        case 'turn.started': {
          const beats = endTurn();
          turn = event.turn;
          hears = true;
          return beats;
        }
        case 'thought.delta':
          return hears ? think(event.depth, event.text) : [];
        case 'thought':
          return thought(event.depth, event.text);
        case 'response.delta':
          return hears ? respond(event.text, event.final === true) : [];
        case 'response':
          return responded(event.text, event.final);
        case 'child.response':
        case 'child.thought': {
          const speaker = speakerOf(event.action);
          if (speaker === undefined) return [];
          const beats =
            event.type === 'child.thought'
              ? whole('thought', event.event.text, false)
              : whole('response', event.event.text, event.event.final);
          return [
            ...closeThoughts(),
            ...closeResponse(),
            ...beats.map((beat) => (beat.kind === 'text' ? beat : { ...beat, speaker })),
          ];
        }
        default:
          return [];
      }
    },
    end: endTurn,
  };
}
