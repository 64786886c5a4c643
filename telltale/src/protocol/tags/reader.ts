import type { ReadTag } from './action-intent.ts';
import { endsInStringTail, goesOn } from './body-scan.ts';
import { noBody, truncatedBody } from './faults.ts';
import { endText } from './markdown.ts';
import { readBody, readPrelude } from './read-action.ts';
import { passes, readText } from './read-prose.ts';
import { closeFromCode, readTag, readTail } from './read-tag.ts';
import { BODY, PRELUDE, type Reader, release, TAG, TAIL, TEXT } from './reader-state.ts';
import type { BodyTag } from './tag-names.ts';

/** A long push is read in parts, so that a search for a mark that is far away is not made again and again. */
const WINDOW = 1024;

export function read(r: Reader, chunk: string): void {
  const at = r.length;
  r.length = at + chunk.length;
  if (r.mode === BODY ? goesOn(r.body, chunk) : r.mode === TEXT && passes(r, chunk)) return;
  if (chunk.length <= WINDOW) feed(r, chunk, at);
  else for (let i = 0; i < chunk.length; i += WINDOW) feed(r, chunk.slice(i, i + WINDOW), at + i);
}

export function endStream(r: Reader): void {
  const { mode, turn, body, length } = r;
  if (mode === TAG) release(r, r.held, length, 0);
  else if (mode === TAIL) closeFromCode(r, length);
  else if (mode === PRELUDE) release(r, r.held, length, 0, noBody(r.tag?.name as BodyTag));
  else if (mode === BODY && endsInStringTail(body)) turn.breakBody(r.tag as ReadTag, body.tooLarge, length);
  else if (mode === BODY && !body.tooLarge) turn.fault(truncatedBody(body.tag), length);
  turn.finish(endText(r.md), length);
}

function feed(r: Reader, chunk: string, at: number): void {
  const outer = r.offset;
  r.offset = at;
  for (let i = 0; i < chunk.length; ) {
    if (r.mode === TEXT) i = readText(r, chunk, i);
    else if (r.mode === BODY) {
      i = readBody(r, chunk, i);
      if (r.again !== '') readAgain(r, at + i);
    } else if (r.mode === TAG) i = readTag(r, chunk, i);
    else if (r.mode === PRELUDE) i = readPrelude(r, chunk, i);
    else i = readTail(r, chunk, i);
  }
  r.offset = outer;
}

/** The tag that broke a body, which ended at `at`, is read once more as what it is. */
function readAgain(r: Reader, at: number): void {
  const { again } = r;
  r.again = '';
  feed(r, again, at - again.length);
}
