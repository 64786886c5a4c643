import type { LiveSnapshot } from '../../../../../telltale/src/client/client.ts';
import type { Json } from '../../../../../telltale/src/lib/json.ts';
import type { LiveEvent, SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { speakerEventOf } from '../../../../../telltale/src/log/fold-handoffs.ts';

/** The streamed part of elements that are not on the log yet. */
export interface LiveSpeech {
  readonly turn: number;
  /** The open thoughts, outermost first. */
  readonly thoughts: readonly { readonly depth: number; readonly text: string }[];
  readonly response: string;
  /** The agent that is speaking, if the conversation has moved to another one. */
  readonly speaker?: string | undefined;
  /** The latest progress of each running action. */
  readonly progress: ReadonlyMap<string, Json>;
}

export const SILENCE: LiveSpeech = { turn: 0, thoughts: [], response: '', progress: new Map() };

/** How many characters of one open element are kept. The dropped beginning will soon be on the log. */
const MAX_OPEN_TEXT = 200_000;

export function hearLive(speech: LiveSpeech, event: LiveEvent | LiveSnapshot): LiveSpeech {
  switch (event.type) {
    case 'live.snapshot':
      return {
        ...speech,
        turn: event.turn,
        speaker: event.speaker,
        thoughts: event.thoughts.map(({ depth, text }) => ({ depth, text: bounded(text) })),
        response: bounded(event.response),
      };
    case 'thought.delta': {
      if (event.speaker !== speech.speaker) return hearLive(silenced(speech, event.speaker), event);
      const outer = speech.thoughts.filter(({ depth }) => depth < event.depth);
      const open = speech.thoughts.find(({ depth }) => depth === event.depth);
      const text = bounded((open?.text ?? '') + event.text);
      return { ...speech, turn: event.turn, thoughts: [...outer, { depth: event.depth, text }] };
    }
    case 'response.delta':
      if (event.speaker !== speech.speaker) return hearLive(silenced(speech, event.speaker), event);
      return { ...speech, turn: event.turn, response: bounded(speech.response + event.text) };
    case 'action.progress':
      return { ...speech, progress: new Map(speech.progress).set(event.id, event.data) };
  }
}

/** Nothing is open any more, and another agent speaks. */
const silenced = (speech: LiveSpeech, speaker: string | undefined): LiveSpeech => ({
  ...speech,
  thoughts: [],
  response: '',
  speaker,
});

/** What is still live once `event` is on the log. The element in the event must not appear twice. */
export function settleLive(speech: LiveSpeech, logged: SessionEvent): LiveSpeech {
  const of = speakerEventOf(logged);
  const event = of?.event ?? logged;
  if (of !== undefined && of.speaker !== speech.speaker) return speech;
  switch (event.type) {
    case 'thought': {
      const thoughts = speech.thoughts.filter(({ depth }) => depth < event.depth);
      return thoughts.length === speech.thoughts.length ? speech : { ...speech, thoughts };
    }
    case 'response':
      return speech.response === ''
        ? speech
        : {
            ...speech,
            response: behind(speech.response, event.text, of !== undefined || event.turn === speech.turn),
          };
    case 'turn.started':
    case 'session.completed':
    case 'session.failed':
    case 'session.cancelled':
    case 'session.stalled':
      return speech.thoughts.length === 0 && speech.response === ''
        ? speech
        : { ...speech, thoughts: [], response: '' };
    case 'turn.failed':
      return speech.thoughts.length === 0 ? speech : { ...speech, thoughts: [] };
    case 'action.completed':
    case 'action.failed':
    case 'action.cancelled':
    case 'action.interrupted':
    case 'action.skipped': {
      if (!speech.progress.has(event.id)) return speech;
      const progress = new Map(speech.progress);
      progress.delete(event.id);
      return { ...speech, progress };
    }
    default:
      return speech;
  }
}

/**
 * Two responses of one turn stream as one text. The text of the first one is its beginning, unless variables were
 * filled in.
 */
function behind(live: string, logged: string, isSameTurn: boolean): string {
  if (!isSameTurn) return live;
  const said = live.trimStart();
  return said.startsWith(logged) ? said.slice(logged.length).trimStart() : '';
}

const bounded = (text: string): string => (text.length > MAX_OPEN_TEXT ? text.slice(-MAX_OPEN_TEXT) : text);
