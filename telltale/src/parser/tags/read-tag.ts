import { isSpace, LF } from '../prose/chars.ts';
import type { ReadTag } from './action-intent.ts';
import { readAttributes } from './action-intent.ts';
import { COUNTED, type Meaning, misplaced as misplacedIn, NEEDS_BODY } from './elements.ts';
import { beginSelfClosed } from './empty-action.ts';
import { controlUnread, type Fault, tagTooLong, unreadableAttributes } from './faults.ts';
import { canReach, isControl, type TagName } from './names.ts';
import { closeInFence, closeTag, openTag, openThought } from './open-tag.ts';
import {
  ALONE_IN_BLOCK,
  counted,
  IN_PROSE,
  IN_SPAN,
  PRELUDE,
  preludeOf,
  type Reader,
  release,
  startPrelude,
  TAIL,
} from './reader-state.ts';
import { BROKEN, COMPLETE, PENDING, stepTag, TOO_LONG } from './tag-scan.ts';

export function readTag(r: Reader, chunk: string, from: number): number {
  const { scan } = r;
  for (let i = from; i < chunk.length; i++) {
    const verdict = stepTag(scan, chunk.charCodeAt(i));
    const after = i + 1;
    if (verdict === PENDING) {
      if (r.restricted && cannotCount(r))
        return release(r, r.held + chunk.slice(from, after), r.offset + after, after);
      if (scan.certain && !r.placeChecked && scan.name !== undefined) {
        const fault = misplaced(r, scan.name);
        if (fault !== undefined) {
          return release(r, r.held + chunk.slice(from, after), r.offset + after, after, fault);
        }
      }
    } else if (verdict === COMPLETE) {
      return endTag(r, chunk, from, after);
    } else if (verdict === TOO_LONG) {
      const fault = unfinished(r, tagTooLong(scan.name));
      return release(r, r.held + chunk.slice(from, after), r.offset + after, after, fault);
    } else {
      const fault = verdict === BROKEN ? unfinished(r, brokenTag(scan.name)) : undefined;
      return release(r, r.held + chunk.slice(from, i), r.offset + i, i, fault);
    }
  }
  r.held += from === 0 ? chunk : chunk.slice(from);
  return chunk.length;
}

/** A closing tag that can no longer be one of those that count here, or an opening tag in code. */
function cannotCount({ scan, stands, closable }: Reader): boolean {
  return scan.closing ? !canReach(scan.node, closable) : stands !== IN_PROSE;
}

function misplaced(r: Reader, name: TagName): Fault | undefined {
  r.placeChecked = true;
  return misplacedIn(r.turn, name, r.lineWasBlank);
}

/** The fault of a tag that never ended. In code it is no tag; a control tag guards what follows it. */
function unfinished({ scan, stands, turn }: Reader, fault: Fault | undefined): Fault | undefined {
  if (stands !== IN_PROSE) return undefined;
  if (!scan.closing && scan.name !== undefined && isControl(scan.name)) turn.doubt = true;
  return fault;
}

function brokenTag(name: TagName | undefined): Fault | undefined {
  if (name === undefined) return undefined;
  return isControl(name) ? controlUnread(name, undefined) : unreadableAttributes(name);
}

/** The tag ends before `next`: what was held of it, and the chunk from `from` on. */
function endTag(r: Reader, chunk: string, from: number, next: number): number {
  const { scan, turn, stands } = r;
  const name = scan.name as TagName;
  const at = r.offset + next;
  if (stands === IN_SPAN || stands === ALONE_IN_BLOCK) {
    r.mode = TAIL;
    r.held += chunk.slice(from, next);
    r.tagLength = r.held.length;
    return next;
  }
  if (!scan.closing && !r.placeChecked) {
    const fault = misplaced(r, name);
    if (fault !== undefined) return release(r, r.held + chunk.slice(from, next), at, next, fault);
  }
  if (!scan.closing && name !== 'thought') {
    const text = r.held + chunk.slice(from, next);
    const tag = { name, attributes: readAttributes(scan, text), readable: scan.readable };
    return endOpeningTag(r, tag, scan.selfClosing, text, at, next);
  }
  if (scan.closing) {
    const meaning = closeTag(turn, name, at);
    if (meaning !== COUNTED) return release(r, r.held + chunk.slice(from, next), at, next, faultOf(meaning));
  } else openThought(turn, scan.selfClosing, at);
  counted(r);
  return next;
}

/** The end of an opening tag, `text`, that is no thought's. */
export function endOpeningTag(
  r: Reader,
  tag: ReadTag,
  selfClosing: boolean,
  text: string,
  at: number,
  next: number,
): number {
  const meaning = openTag(r.turn, tag, selfClosing, at);
  if (meaning === COUNTED) {
    counted(r);
    return next;
  }
  if (meaning !== NEEDS_BODY) return release(r, text, at, next, faultOf(meaning));
  r.held = text;
  r.tag = tag;
  r.tagLength = text.length;
  if (selfClosing) return beginSelfClosed(r, at, next);
  r.mode = PRELUDE;
  startPrelude(preludeOf(r));
  return next;
}

export function faultOf(meaning: Meaning): Fault | undefined {
  return typeof meaning === 'object' ? meaning : undefined;
}

export function readTail(r: Reader, chunk: string, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const c = chunk.charCodeAt(i);
    if (c === LF) {
      r.held += chunk.slice(from, i);
      closeFromCode(r, r.offset + i);
      return i;
    }
    if (!isSpace(c)) return release(r, r.held + chunk.slice(from, i), r.offset + i, i);
  }
  r.held += chunk.slice(from);
  return chunk.length;
}

/** The closing tag in code counts; the white space after it begins the next run. */
export function closeFromCode(r: Reader, at: number): void {
  const { turn } = r;
  const space = r.held.slice(r.tagLength);
  const name = turn.elements.innermost;
  if (name === undefined) return;
  if (r.stands === ALONE_IN_BLOCK) closeInFence(turn, name, at - space.length);
  else closeTag(turn, name, at - space.length);
  counted(r);
  if (space !== '') release(r, space, at, 0);
}
