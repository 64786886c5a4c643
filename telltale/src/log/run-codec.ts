import { decodeStored, storedFront } from './codec.ts';
import type { RunEvent, RunEventBody, RunHead } from './run-event.ts';

/** One line of JSON, in the form of a session's events: a run has no turns. */
export const encodeRunEvent = ({ seq, at, cause, run }: RunHead, body: RunEventBody): string =>
  storedFront(seq, at, 0, cause, run) + encodeBody(body);

/** The events of every step are put together by hand: two thirds of the time. */
function encodeBody(body: RunEventBody): string {
  if (body.type === 'step.started') {
    const { step, attempt, input, repeatable } = body;
    const given = input === undefined ? '' : `"input":${JSON.stringify(input)},`;
    return `"type":"step.started","step":${JSON.stringify(step)},"attempt":${attempt},${given}"repeatable":${repeatable}}`;
  }
  if (body.type === 'step.completed' && body.output_key === undefined && body.notes === undefined) {
    const { step, output, ms, attempts } = body;
    return `"type":"step.completed","step":${JSON.stringify(step)},"output":${JSON.stringify(output)},"ms":${ms},"attempts":${attempts}}`;
  }
  return JSON.stringify(body).slice(1);
}

/** The event in a line of the log of `run`. Throws as `decodeEvent` does. */
export function decodeRunEvent(line: string, run: string): RunEvent {
  const { seq, at, cause, body } = decodeStored(line, run);
  return { seq, at, run, cause, ...(body as RunEventBody) };
}
