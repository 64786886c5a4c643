import type { GivenPart } from '../../kernel/provider-part.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { act } from './act.ts';
import { splitAtCloses } from './close-splitter.ts';
import { dropQueue, queueAt, whenOpen } from './gate.ts';
import { cut, type Heard, type Hearing } from './hearing-state.ts';
import { closeOpen } from './responses.ts';
import { closeThoughts, dropUnwritten, endRun, keepPart, sayRaw, writeRest } from './spoken.ts';
import { closedAtStop } from './unclosed-response.ts';

/** Reads the next piece of the stream, and acts on each intent that it closes. */
export function hear(hearing: Hearing, delta: string): void {
  if (hearing.observed !== undefined) return;
  if (hearing.calls !== undefined) {
    hearCalls(hearing, hearing.calls, delta);
    return;
  }
  const pieces = splitAtCloses(hearing, delta);
  if (pieces === undefined) {
    hearPiece(hearing, delta);
    return;
  }
  for (const piece of pieces) {
    hearPiece(hearing, piece);
    if (hearing.observed !== undefined) return;
  }
}

/** Something that the provider wants back with the text. */
export function hearPart({ spoken, observed, context }: Hearing, part: GivenPart): void {
  if (observed === undefined) keepPart(spoken, part, context.model.id);
}

/** As with tags, what is on the log ends where an intent does: nothing is read behind one before it is acted on. */
function hearCalls(hearing: Hearing, calls: CallParser, delta: string): void {
  for (let at = 0; at < delta.length && hearing.observed === undefined; ) {
    const to = calls.advance(delta, at);
    sayRaw(hearing.spoken, delta.slice(at, to));
    pass(hearing, calls.take());
    at = to;
  }
}

function hearPiece(hearing: Hearing, piece: string): void {
  sayRaw(hearing.spoken, piece);
  pass(hearing, hearing.parser.push(piece));
}

function pass(hearing: Hearing, events: readonly ParserEvent[]): void {
  const { parser } = hearing;
  for (const event of events) {
    const { gate } = hearing;
    if (gate?.held !== true) act(hearing, event, parser.consumed);
    else if (queueAt(gate, event, parser.consumed)) cut(hearing, 'buffer_full');
  }
}

/**
 * The stream is over: reads what is left. Undefined where all that was heard has been acted on, else once that is so; or
 * once the agent is spoken to while people decide on what holds the rest back (`isHeldBack`).
 */
export function endHearing(hearing: Hearing): Promise<void> | undefined {
  const { parser, context } = hearing;
  if (hearing.observed === undefined) {
    const ending = parser.end();
    const closed = endedByModel(hearing) ? closedAtStop(ending, hearing.spoken.pending) : ending;
    hearing.endedOpen = closed !== ending;
    pass(hearing, closed);
  }
  const { gate } = hearing;
  if (gate?.held === true)
    return context.reviews.untilSpokenTo((done) => {
      whenOpen(gate, () => {
        writeEnd(hearing);
        done();
      });
      return undefined;
    });
  writeEnd(hearing);
  return undefined;
}

/** Whether the model came to its end, and was neither cut off nor ran into a limit. */
const endedByModel = ({ cutFor, streamed, calls }: Hearing): boolean =>
  calls === undefined &&
  cutFor === undefined &&
  streamed?.ended.ok === true &&
  streamed.ended.value.finish === 'stop';

function writeEnd(hearing: Hearing): void {
  const { parser, spoken } = hearing;
  // Read while a <parallel> before it was waited for: the generation was cut at the sync action.
  if (hearing.observed !== undefined) dropUnwritten(spoken);
  endRun(spoken, parser.consumed);
  writeRest(spoken);
  tellWhyInDoubt(hearing);
  closeOpen(hearing);
}

/** What brought the doubt may stand in a branch that does not hold. A final response is not one of a turn in doubt. */
function tellWhyInDoubt({ passed, parser, over, observed, spoken }: Hearing): void {
  if (passed.length === 0 || !('inDoubt' in parser) || !parser.inDoubt()) return;
  if (over && observed === undefined) return;
  for (const { code, message } of passed) spoken.log.append({ type: 'fault', code, message });
}

/**
 * The turn is given up: what was said goes on the log, nothing more is acted on. What was held back does not: nobody could
 * tell it from what was acted on if the process died here.
 */
export function abandonHearing(hearing: Hearing): void {
  const { gate, spoken } = hearing;
  hearing.over = true;
  hearing.afterFinal = true;
  if (gate?.held === true) dropQueue(gate);
  else writeRest(spoken);
}

export const isHeldBack = ({ gate }: Hearing): boolean => gate?.held === true;

/**
 * Drops what was held back, as if the process had died here: it is not on the log, and the model may say it again under
 * the same ids.
 */
export function dropHeldBack(hearing: Hearing): void {
  const { gate, spoken } = hearing;
  if (gate !== undefined) dropQueue(gate);
  hearing.over = true;
  hearing.afterFinal = true;
  dropUnwritten(spoken);
  closeThoughts(spoken);
}

export const heardIn = ({ responses, spoken, observed, tagged }: Hearing): Heard => ({
  responses,
  text: spoken.bare,
  tagged,
  observed,
});
