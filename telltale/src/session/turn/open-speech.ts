import type { OpenSpeech } from '../speech.ts';
import type { Hearing } from './hearing-state.ts';

/** Undefined where nothing is open. */
export function openSpeech({ context, spoken, responses, response }: Hearing): OpenSpeech | undefined {
  const { turn, signs } = context.state;
  const streams = responses.map(({ stream }) => stream);
  if (response !== undefined) streams.push(response);
  // They come onto the log in the order in which they were opened.
  const said = streams.slice(signs.responses).map((stream) => stream.text);
  const open = said.join('');
  const { thoughts = [] } = spoken;
  if (open === '' && thoughts.length === 0) return undefined;
  return { turn, thoughts: thoughts.map(({ depth, text }) => ({ depth, text })), response: open };
}
