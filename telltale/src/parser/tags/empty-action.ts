import { readEnvelope, withOurNames } from '../envelope/envelope.ts';
import { takeAutomaticId, takeId } from '../envelope/ids.ts';
import type { ParserEvent } from '../intents.ts';
import { readObject } from '../json/tolerant-json.ts';
import { isSpace, LF, LT } from '../prose/chars.ts';
import { emit } from '../prose/output.ts';
import { actionIntent, attributeFault, hasName, type ReadTag, withFields } from './action-intent.ts';
import { endRun, newRun, openForeach, type Turn } from './elements.ts';
import {
  aboutAction,
  badAction,
  badJson,
  bodyTooLarge,
  brokenBody,
  duplicateId,
  emptyInProse,
  type Fault,
  inDoubt,
  noBody,
  notFinite,
} from './faults.ts';
import { type BodyTag, bitOf, canReach, ID } from './names.ts';
import { counted, EMPTY, type EmptyAction, type Reader, release } from './reader-state.ts';
import { COMPLETE, createTagScan, PENDING, startTag, stepTag } from './tag-scan.ts';

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

/** The `{` of a body has been seen: the tag counts, and the run before it is over. */
export function beginBody(turn: Turn, at: number): void {
  endRun(turn, at);
  newRun(turn, false);
}

/** A body that ended where it should. `strict` is what JSON.parse made of it, if it could. */
export function endBody(turn: Turn, tag: ReadTag, text: string, strict: unknown, at: number): void {
  const acted = act(turn, tag, text, strict);
  const event = acted.type === 'fault' ? aboutTag(tag, acted) : acted;
  const foreach = openForeach(turn.elements);
  if (event.type !== 'action' || foreach === undefined) emit(turn.output, event, at);
  else {
    foreach.actions.push(event);
    turn.output.consumed = at;
  }
}

export function breakBody(turn: Turn, tag: ReadTag, tooLarge: boolean, at: number): void {
  const name = tag.name as BodyTag;
  if (!tooLarge)
    emit(
      turn.output,
      aboutTag(tag, turn.doubt ? inDoubt(name) : (attributeFault(tag) ?? brokenBody(name))),
      at,
    );
  turn.doubt = true;
}

/** A fault of a tag, naming the action that it keeps from running. */
export const aboutTag = ({ name, attributes }: ReadTag, fault: Fault): Fault =>
  aboutAction(name === 'action' ? attributes.values[ID] : undefined, fault);

/** The event of a body, or the one fault that keeps it from acting. */
function act({ elements, book, doubt }: Turn, tag: ReadTag, text: string, strict: unknown): ParserEvent {
  const name = tag.name as BodyTag;
  const bad = doubt ? inDoubt(name) : attributeFault(tag);
  if (bad !== undefined) return bad;
  const value = readObject(text, strict);
  if (typeof value === 'string') return value === 'not_finite' ? notFinite(name) : badJson(name, text);
  const repaired = strict === undefined;
  if (name === 'metadata') {
    return repaired ? { type: 'metadata', value, repaired } : { type: 'metadata', value };
  }
  const { attributes } = tag;
  const body = hasName(attributes) ? value : withOurNames(value, 'parameters');
  const full = typeof body === 'string' ? body : withFields(attributes, body);
  const envelope = typeof full === 'string' ? full : readEnvelope(full);
  if (typeof envelope === 'string') return badAction(envelope);
  const asked = attributes.values[ID];
  if (asked !== undefined && !takeId(book, asked)) return duplicateId(asked);
  const id = asked ?? takeAutomaticId(book);
  return actionIntent(tag, envelope, id, elements, repaired);
}
