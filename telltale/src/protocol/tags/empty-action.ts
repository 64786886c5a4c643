import { isSpace, LF, LT } from '../prose/chars.ts';
import { emit } from '../prose/output.ts';
import type { ReadTag } from './action-intent.ts';
import { beginBody, endBody } from './end-body.ts';
import { bodyTooLarge, emptyInProse, noBody } from './faults.ts';
import { counted, EMPTY, type EmptyAction, type Reader, release } from './reader-state.ts';
import { bitOf, canReach } from './tag-names.ts';
import { COMPLETE, PENDING, stepTag } from './tag-scan.ts';
import { createTagScan, startTag } from './tag-scan-state.ts';

/** In what may be the own closing tag. */
const CLOSING = 0;
const ACTION = bitOf('action');
/** Behind the action: nothing but white space so far on its line. */
const AFTER = 1;
/** In what may be another tag behind it. */
const NEXT = 2;

/** `<action name="…"/>` has been read, up to `next`. */
export function beginSelfClosed(r: Reader, at: number, next: number): number {
  const empty = emptyOf(r);
  empty.space = 0;
  return endAction(r, empty, at, next);
}

/** A `<` follows the opening tag and white space: `r.held`. */
export function beginClosing(r: Reader): void {
  const empty = emptyOf(r);
  empty.phase = CLOSING;
  empty.space = r.held.length - r.tagLength;
  startCandidate(empty);
  r.mode = EMPTY;
}

function emptyOf(r: Reader): EmptyAction {
  r.empty ??= { phase: AFTER, candidate: '', length: 0, space: 0, scan: createTagScan() };
  return r.empty;
}

function startCandidate(empty: EmptyAction): void {
  empty.candidate = '<';
  startTag(empty.scan);
}

/** The action has ended at `next`. In the midst of prose it is known to be text. */
function endAction(r: Reader, empty: EmptyAction, at: number, next: number): number {
  if (!r.lineWasBlank) return release(r, r.held, at, next, emptyInProse());
  empty.phase = AFTER;
  empty.candidate = '';
  empty.length = r.held.length;
  r.mode = EMPTY;
  return next;
}

export function readEmpty(r: Reader, chunk: string, from: number): number {
  const empty = emptyOf(r);
  for (let i = from; i < chunk.length; i++) {
    const c = chunk.charCodeAt(i);
    if (empty.phase === AFTER) {
      if (c !== LF && isSpace(c)) r.held += chunk.charAt(i);
      else if (c === LT) {
        empty.phase = NEXT;
        startCandidate(empty);
      } else return settle(r, c === LF, r.offset + i, i);
      continue;
    }
    const { scan } = empty;
    const verdict = stepTag(scan, c);
    const isTag = verdict === COMPLETE || (verdict === PENDING && scan.certain);
    const isOther = empty.phase === CLOSING && !(scan.closing && canReach(scan.node, ACTION));
    if (verdict === PENDING && !isTag && !isOther) {
      empty.candidate += chunk.charAt(i);
      continue;
    }
    if (empty.phase === NEXT) return settle(r, isTag, r.offset + i, i);
    if (verdict === COMPLETE && scan.closing && scan.name === 'action') {
      r.held += empty.candidate + chunk.charAt(i);
      const next = endAction(r, empty, r.offset + i + 1, i + 1);
      if (r.mode !== EMPTY) return next;
      continue;
    }
    return dropEmpty(r, r.offset + i, i);
  }
  return chunk.length;
}

/** No empty action after all: the opening tag is text, and what follows is read again. */
function dropEmpty(r: Reader, at: number, next: number): number {
  const { candidate } = emptyOf(r);
  release(r, r.held, at - candidate.length, next, noBody('action'));
  r.again = candidate;
  return next;
}

/** What follows the action is known: it acts, or is text. */
function settle(r: Reader, acts: boolean, at: number, next: number): number {
  const { candidate, length, space } = emptyOf(r);
  const end = at - candidate.length;
  r.again = candidate;
  if (!acts) return release(r, r.held, end, next, emptyInProse());
  const { held, turn } = r;
  const behind = held.slice(length);
  beginBody(turn, end - held.length);
  counted(r);
  const tag = r.tag as ReadTag;
  if (space > r.maxBody) emit(r.output, bodyTooLarge('action', r.maxBody), end - behind.length);
  else endBody(turn, tag, '{}', {}, end - behind.length);
  if (behind !== '') release(r, behind, end, next);
  return next;
}

/** The stream ended: its last line is over, and a tag that was not finished is text. */
export function cutEmpty(r: Reader, at: number): void {
  const empty = emptyOf(r);
  if (empty.phase === AFTER) {
    settle(r, true, at, 0);
    return;
  }
  const fault = empty.phase === CLOSING ? noBody('action') : emptyInProse();
  release(r, r.held + empty.candidate, at, 0, fault);
}
