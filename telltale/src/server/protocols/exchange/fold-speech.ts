import type { ErrorJson } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { type DeclaredAction, isShown } from '../../../log/action.ts';
import type { ObservedEvent } from '../../../log/event.ts';
import { speakerEventOf } from '../../../log/fold-handoffs.ts';

export type FoldSpeechVoice = 'thought' | 'response';

/** What a protocol tells of what the agent says: elements that open, grow and close. */
export type SpeechBeat =
  /** `meant`: its opening tag means it to be the final response. */
  | {
      readonly kind: 'open';
      readonly voice: FoldSpeechVoice;
      readonly id: string;
      readonly meant: boolean;
      /** The agent that says it, where that is not the session's own. */
      readonly speaker?: string;
    }
  | { readonly kind: 'text'; readonly voice: FoldSpeechVoice; readonly id: string; readonly text: string }
  /** `final`: all texts of the element together are the final response, to the letter. */
  | {
      readonly kind: 'close';
      readonly voice: FoldSpeechVoice;
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

interface FoldSpeechOpen {
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
  const thoughts = new Map<number, FoldSpeechOpen>();
  const told = new Set<number>();
  let response: FoldSpeechOpen | undefined;
  let speaker: string | undefined;
  let turn = 0;
  let elements = 0;
  let hears = !joins;

  const next = (voice: FoldSpeechVoice): FoldSpeechOpen => ({
    id: `${turn}.${voice === 'thought' ? 't' : 'r'}${++elements}`,
    text: '',
  });
  const opened = (voice: FoldSpeechVoice, { id }: FoldSpeechOpen, meant: boolean): SpeechBeat => ({
    kind: 'open',
    voice,
    id,
    meant,
    ...spokenBy(speaker),
  });
  const grown = (voice: FoldSpeechVoice, { id }: FoldSpeechOpen, text: string): readonly SpeechBeat[] =>
    text === '' ? [] : [{ kind: 'text', voice, id, text }];
  const closed = (voice: FoldSpeechVoice, { id }: FoldSpeechOpen, final: boolean): SpeechBeat => ({
    kind: 'close',
    voice,
    id,
    final,
    ...spokenBy(speaker),
  });
  const whole = (voice: FoldSpeechVoice, text: string, final: boolean): readonly SpeechBeat[] => {
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

  const tell = (event: ObservedEvent): readonly SpeechBeat[] => {
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
      default:
        return [];
    }
  };

  return {
    take(event) {
      const of = speakerEventOf(event);
      const said = of?.event ?? event;
      if (!SPEECH.has(said.type)) return [];
      const next = of?.speaker ?? ('speaker' in event ? event.speaker : undefined);
      // What another agent left open is closed first.
      const before = next === speaker ? [] : endTurn();
      speaker = next;
      return [...before, ...tell(said)];
    },
    end: endTurn,
  };
}

const SPEECH: ReadonlySet<ObservedEvent['type']> = new Set([
  'turn.started',
  'thought.delta',
  'thought',
  'response.delta',
  'response',
]);

const spokenBy = (speaker: string | undefined): { readonly speaker?: string } =>
  speaker === undefined ? {} : { speaker };

/** What a protocol tells of an action: that it is asked for, with what, and what came of it. */
export type CallBeat =
  | {
      readonly kind: 'open';
      readonly id: string;
      readonly action: DeclaredAction;
      /** The agent that asks for it, where that is not the session's own. */
      readonly speaker?: string;
    }
  | { readonly kind: 'input'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly kind: 'output'; readonly id: string; readonly output: Json }
  | { readonly kind: 'error'; readonly id: string; readonly error: Pick<ErrorJson, 'code' | 'message'> };

/** An action in its conversation: that of another agent has the agent's name in front. */
export const callKey = (action: string, speaker: string | undefined): string =>
  speaker === undefined ? action : `speaker.${speaker}.${action}`;

/** Folds the events of actions into calls: each opens once, gets its input once and ends once, in this order. */
export interface CallFold {
  take(event: ObservedEvent): readonly CallBeat[];
  /** Gives calls that have not begun the input they were declared with. */
  flush(): readonly CallBeat[];
  /** Those that have not ended. */
  open(): readonly string[];
}

/** Longer results are cut: the log has all of them. */
const MAX_OUTPUT_CHARS = 1_048_576;

/** `known`: calls that were told of before and have not ended. Events of others that were declared before are left out. */
export function createCallFold(known: readonly string[] = []): CallFold {
  /** With the action, as long as its input is not out. */
  const calls = new Map<string, DeclaredAction | undefined>(known.map((id) => [id, undefined]));

  const input = (id: string, given: JsonObject): readonly CallBeat[] => {
    const action = calls.get(id);
    if (action === undefined) return [];
    calls.set(id, undefined);
    return [{ kind: 'input', id, name: action.name, input: given }];
  };
  const end = (id: string, beat: CallBeat): readonly CallBeat[] => {
    if (!calls.has(id)) return [];
    const before = input(id, calls.get(id)?.parameters ?? {});
    calls.delete(id);
    return [...before, beat];
  };
  const fail = (id: string, code: string, message: string) =>
    end(id, { kind: 'error', id, error: { code, message } });

  return {
    take(given) {
      const { speaker, event } = speakerEventOf(given) ?? { event: given };
      const key = (action: string) => callKey(action, speaker);
      switch (event.type) {
        case 'action.declared': {
          const { action } = event;
          const id = key(action.id);
          if (!isShown(action) || calls.has(id)) return [];
          calls.set(id, action);
          return [{ kind: 'open', id, action, ...spokenBy(speaker) }];
        }
        case 'review.requested':
          return input(key(event.action), event.input);
        case 'action.started':
          return input(key(event.id), event.input);
        case 'action.completed':
          return end(key(event.id), { kind: 'output', id: key(event.id), output: cut(event.output) });
        case 'action.failed':
          return fail(key(event.id), event.error.code, event.error.message);
        case 'action.skipped':
          return fail(key(event.id), 'skipped', skippedText(event.reason, event.because));
        case 'action.cancelled':
          return fail(key(event.id), 'cancelled', `It was cancelled: ${event.reason}`);
        case 'action.interrupted':
          return fail(
            key(event.id),
            'interrupted',
            'The server stopped while it was running, so its result is not known.',
          );
        default:
          return [];
      }
    },
    flush: () =>
      [...calls].flatMap(([id, action]) => (action === undefined ? [] : input(id, action.parameters))),
    open: () => [...calls.keys()],
  };
}

const skippedText = (reason: string, because: string | undefined): string =>
  because === undefined ? `It was skipped (${reason}).` : `It was skipped (${reason}): ${because}`;

function cut(output: Json): Json {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= MAX_OUTPUT_CHARS) return output;
  return `${text.slice(0, MAX_OUTPUT_CHARS)}… [${text.length - MAX_OUTPUT_CHARS} characters more are on the session's log]`;
}

/** A result as text, for protocols that have nothing else. */
export const outputText = (output: Json): string =>
  typeof output === 'string' ? output : JSON.stringify(output);
