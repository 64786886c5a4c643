import type { ParserEvent } from '../intents.ts';
import { holdsNothing, takeEvents } from '../prose/output.ts';
import { pushedAfterEnd } from '../turn-parser.ts';
import { isBetweenTags } from './body-scan.ts';
import { finishTurn } from './close-tag.ts';
import { cutEmpty, readEmpty } from './empty-action.ts';
import { noBody } from './faults.ts';
import { endText, isCalm } from './markdown.ts';
import { cutBody, readBody, readPrelude } from './read-action.ts';
import { readText } from './read-prose.ts';
import { closeFromCode, readTag, readTail } from './read-tag.ts';
import {
  BODY,
  bodyOf,
  EMPTY,
  type Outlook,
  PRELUDE,
  type Reader,
  release,
  TAG,
  TAIL,
  TEXT,
} from './reader-state.ts';
import type { BodyTag } from './tag-names.ts';
import { keepScan } from './tag-scan-state.ts';

/** A long push is read in parts, so that a search for a mark that is far away is not made again and again. */
const WINDOW = 1024;

/** Reads on and returns the events. `consumed` is how far those before it went. */
export function read(r: Reader, chunk: string, consumed: number): ParserEvent[] {
  if (r.outlook === 'ended') throw pushedAfterEnd();
  const at = catchUp(r, consumed);
  r.length = at + chunk.length;
  if (chunk.length <= WINDOW) feed(r, chunk, at);
  else for (let i = 0; i < chunk.length; i += WINDOW) feed(r, chunk.slice(i, i + WINDOW), at + i);
  r.outlook = lookAhead(r);
  return takeEvents(r.output);
}

/** Counts the chunks that were taken at a glance since the last one that was read; returns where the next begins. */
function catchUp(r: Reader, consumed: number): number {
  if (r.outlook === 'calm prose') r.length = consumed;
  else if (r.outlook === 'calm body') r.length = r.bodyFrom + bodyOf(r).length;
  r.output.consumed = consumed;
  return r.length;
}

function lookAhead(r: Reader): Outlook {
  const { mode } = r;
  if (mode === BODY) {
    const body = bodyOf(r);
    r.bodyFrom = r.length - body.length;
    return isBetweenTags(body) ? 'calm body' : 'unknown';
  }
  if (mode === TAG) keepScan(r.scan);
  return mode === TEXT && isCalm(r.md) && holdsNothing(r.output) ? 'calm prose' : 'unknown';
}

export function endStream(r: Reader, consumed: number): ParserEvent[] {
  const { mode, turn } = r;
  const length = catchUp(r, consumed);
  r.outlook = 'ended';
  if (mode === TAG) release(r, r.held, length, 0);
  else if (mode === TAIL) closeFromCode(r, length);
  else if (mode === PRELUDE) release(r, r.held, length, 0, noBody(r.tag?.name as BodyTag));
  else if (mode === BODY) cutBody(r, length);
  else if (mode === EMPTY) cutEmpty(r, length);
  finishTurn(turn, endText(r.md), length);
  return takeEvents(r.output);
}

function feed(r: Reader, chunk: string, at: number): void {
  const outer = r.offset;
  r.offset = at;
  for (let i = 0; i < chunk.length; ) {
    if (r.mode === TEXT) i = readText(r, chunk, i);
    else if (r.mode === BODY || r.mode === EMPTY) {
      i = r.mode === BODY ? readBody(r, chunk, i) : readEmpty(r, chunk, i);
      if (r.again !== '') readAgain(r, at + i);
    } else if (r.mode === TAG) i = readTag(r, chunk, i);
    else if (r.mode === PRELUDE) i = readPrelude(r, chunk, i);
    else i = readTail(r, chunk, i);
  }
  r.offset = outer;
}

/** A tag, or a part of one, that ended at `at` is read once more as what it is. */
function readAgain(r: Reader, at: number): void {
  const { again } = r;
  r.again = '';
  feed(r, again, at - again.length);
}
