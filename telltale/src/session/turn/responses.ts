import { added } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { cut, type Hearing } from './hearing-state.ts';
import { createResponseStream, endResponse, whenOut } from './response-stream.ts';
import { closeThoughts, writeOutput } from './spoken.ts';

export function openResponse(hearing: Hearing, final: boolean): void {
  const { log, scheduler, manifest } = hearing.context;
  const before = hearing.responses.at(-1)?.stream;
  hearing.responseFinal = final;
  hearing.response = createResponseStream(scheduler, log, final, manifest.output !== undefined, before);
}

export function closeResponse(
  hearing: Hearing,
  close: Extract<ParserEvent, { type: 'close' }>,
  consumed: number,
): void {
  const { response: stream, spoken, context } = hearing;
  if (stream === undefined) return;
  const meant = (close.final ?? hearing.responseFinal) && close.truncated !== true;
  const final = meant && context.guide === undefined;
  hearing.response = undefined;
  const inVain = meant && !final ? { inVain: true as const } : {};
  // A copy: docs/decisions/copies.md
  hearing.responses = added(hearing.responses, { stream, final, ...inVain });
  writeOutput(spoken, consumed);
  endResponse(stream);
  if (final) {
    hearing.over = true;
    if (!hearing.endedOpen) cut(hearing, 'final');
  } else whenOut(stream, () => context.log.append({ type: 'response', text: stream.text, final: false }));
}

const CUT_OFF = { type: 'close', tag: 'response', truncated: true } as const;

/** The stream is over, and it was the runtime that cut it: what is still open is said as far as it went. */
export function closeOpen(hearing: Hearing): void {
  closeResponse(hearing, CUT_OFF, hearing.parser.consumed);
  closeThoughts(hearing.spoken);
}
