import { emit } from '../prose/output.ts';
import type { ReadTag } from './action-intent.ts';
import {
  BROKEN_BY_CLOSE,
  BROKEN_BY_TAG,
  endsInStringTail,
  keepCandidate,
  READING,
  scanBody,
  startBody,
} from './body-scan.ts';
import { bodyText, strictValue } from './body-text.ts';
import { beginClosing } from './empty-action.ts';
import { aboutTag, beginBody, breakBody, endBody } from './end-body.ts';
import { bodyTooLarge, noBody, truncatedBody } from './faults.ts';
import { hasName } from './field-attributes.ts';
import { BEGINS, MAY_CLOSE, stepPrelude, WAITING } from './prelude.ts';
import { BODY, bodyOf, counted, preludeOf, type Reader, release } from './reader-state.ts';
import type { BodyTag } from './tag-names.ts';

export function readPrelude(r: Reader, chunk: string, from: number): number {
  const prelude = preludeOf(r);
  for (let i = from; i < chunk.length; i++) {
    const verdict = stepPrelude(prelude, chunk.charCodeAt(i));
    if (verdict === WAITING) continue;
    const { held, tagLength } = r;
    const name = r.tag?.name as BodyTag;
    if (verdict === MAY_CLOSE && mayBeEmpty(r)) {
      r.held += chunk.slice(from, i);
      beginClosing(r);
      return i + 1;
    }
    if (verdict !== BEGINS) return release(r, held + chunk.slice(from, i), r.offset + i, i, noBody(name));
    beginBody(r.turn, r.offset + from - held.length);
    counted(r);
    r.mode = BODY;
    r.saidTooLarge = false;
    // Not cut off the tag and all that follows it: what is joined has to be copied to be cut.
    const space = chunk.slice(from, i);
    startBody(bodyOf(r), name, held.length === tagLength ? space : held.slice(tagLength) + space);
    return i;
  }
  r.held += chunk.slice(from);
  return chunk.length;
}

const mayBeEmpty = ({ tag }: Reader): boolean => tag?.name === 'action' && hasName(tag.attributes);

export function readBody(r: Reader, chunk: string, from: number): number {
  const body = bodyOf(r);
  const next = scanBody(body, chunk, from);
  if (body.tooLarge) sayTooLarge(r, r.offset + next);
  if (body.state !== READING) leaveBody(r, r.offset + next);
  return next;
}

function sayTooLarge(r: Reader, at: number): void {
  if (r.saidTooLarge) return;
  r.saidTooLarge = true;
  emit(r.output, aboutTag(r.tag as ReadTag, bodyTooLarge(bodyOf(r).tag, r.maxBody)), at);
}

/** The stream ended in a body. */
export function cutBody(r: Reader, at: number): void {
  const body = bodyOf(r);
  if (endsInStringTail(body)) {
    breakBody(r.turn, r.tag as ReadTag, body.tooLarge, at);
    return;
  }
  keepCandidate(body);
  if (body.tooLarge) sayTooLarge(r, at);
  else emit(r.output, aboutTag(r.tag as ReadTag, truncatedBody(body.tag)), at);
}

function leaveBody(r: Reader, at: number): void {
  const { turn } = r;
  const body = bodyOf(r);
  const { candidate } = body;
  const tag = r.tag as ReadTag;
  counted(r);
  if (body.state === BROKEN_BY_TAG) {
    breakBody(turn, tag, body.tooLarge, at - candidate.length);
    r.again = candidate;
  } else if (body.state === BROKEN_BY_CLOSE) {
    const space = candidate.slice(candidate.indexOf('>') + 1);
    breakBody(turn, tag, body.tooLarge, at - space.length);
    if (space !== '') release(r, space, at, 0);
  } else if (!body.tooLarge) endBody(turn, tag, bodyText(body), strictValue(body), at);
}
