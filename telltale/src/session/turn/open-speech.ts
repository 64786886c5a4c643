import type { Hearing } from './hearing-state.ts';

/** What the model has said of elements that are still open. */
export interface OpenSpeech {
  readonly turn: number;
  /** From the outermost to the innermost. */
  readonly thoughts: readonly { readonly depth: number; readonly text: string }[];
  /** What has gone out of responses that are not on the log yet. */
  readonly response: string;
}

/** Undefined where nothing is open. */
export function openSpeech({ context, spoken, responses, response }: Hearing): OpenSpeech | undefined {
  const { turn, signs } = context.state;
  const streams = responses.map(({ stream }) => stream);
  if (response !== undefined) streams.push(response);
  // They come onto the log in the order in which they were opened.
  const said = streams.slice(signs.responses).map((stream) => stream.text());
  const open = said.join('');
  if (open === '' && spoken.thoughts.length === 0) return undefined;
  return { turn, thoughts: spoken.thoughts.map(({ depth, text }) => ({ depth, text })), response: open };
}
