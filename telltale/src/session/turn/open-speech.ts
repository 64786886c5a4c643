import type { SessionState } from '../../events/state.ts';
import type { OpenSpeech } from '../speech.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Spoken } from './spoken.ts';

/** What of a turn is looked at. */
interface Speaking {
  readonly context: { readonly state: SessionState };
  readonly spoken: Spoken;
  readonly responses: readonly { readonly stream: ResponseStream }[];
  readonly response: ResponseStream | undefined;
}

/** Undefined where nothing is open. */
export function openSpeech(this: Speaking): OpenSpeech | undefined {
  const { context, spoken, responses, response } = this;
  const { turn, signs } = context.state;
  const streams = responses.map(({ stream }) => stream);
  if (response !== undefined) streams.push(response);
  // They come onto the log in the order in which they were opened.
  const said = streams.slice(signs.responses).map((stream) => stream.text);
  const open = said.join('');
  const { thoughts } = spoken;
  if (open === '' && thoughts.length === 0) return undefined;
  return { turn, thoughts: thoughts.map(({ depth, text }) => ({ depth, text })), response: open };
}
