import { decodeStored, encodeStored } from './codec.ts';
import type { RunEvent, RunEventBody, RunHead } from './run-event.ts';

/** One line of JSON, in the form of a session's events: a run has no turns. */
export const encodeRunEvent = (head: RunHead, body: RunEventBody): string =>
  encodeStored({ seq: head.seq, at: head.at, turn: 0, cause: head.cause, stream: head.run }, body);

/** The event in a line of the log of `run`. Throws as `decodeEvent` does. */
export function decodeRunEvent(line: string, run: string): RunEvent {
  const { seq, at, cause, body } = decodeStored(line, run);
  return { seq, at, run, cause, ...(body as RunEventBody) };
}
