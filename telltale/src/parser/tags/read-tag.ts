import { readEnvelope, withOurNames } from '../envelope/envelope.ts';
import { elseIf, ID_FORM, isId, openForeach, openIf, takeAutomaticId, takeId } from '../envelope/ids.ts';
import type { ParserEvent } from '../intents.ts';
import { readObject } from '../json/tolerant-json.ts';
import { emit } from '../prose/output.ts';
import {
  actionIntent,
  attributeFault,
  hasName,
  type ReadTag,
  readAttributes,
  unknownName,
  withFields,
} from './action-intent.ts';
import {
  COUNTED,
  closeAbove,
  closeElement,
  currentForeach,
  endRun,
  findElement,
  frameAt,
  type Meaning,
  misplaced as misplacedIn,
  NEEDS_BODY,
  newRun,
  openElement,
  SILENT_TEXT,
  type Turn,
} from './elements.ts';
import {
  aboutAction,
  badAction,
  badFinal,
  badJson,
  badValue,
  bodyTooLarge,
  brokenBody,
  controlUnread,
  duplicateGroupId,
  duplicateId,
  emptyInProse,
  type Fault,
  fenceLeftOpen,
  fenceLeftOpenAt,
  inDoubt,
  noBody,
  notFinite,
  notHere,
  strayClose,
  tagTooLong,
  unreadableAttributes,
  unsealed,
} from './faults.ts';
import {
  ALL_NAMES,
  AS,
  type BodyTag,
  bitOf,
  canReach,
  type ElementName,
  FINAL,
  ID,
  IN,
  isControl,
  isElement,
  isSpace,
  KEY,
  LF,
  LT,
  type TagName,
  TEST,
} from './names.ts';
import {
  ALONE_IN_BLOCK,
  counted,
  EMPTY,
  type EmptyAction,
  IN_PROSE,
  IN_SPAN,
  PRELUDE,
  preludeOf,
  type Reader,
  release,
  startPrelude,
  TAIL,
} from './reader-state.ts';
import { BROKEN, COMPLETE, createTagScan, PENDING, startTag, stepTag, TOO_LONG } from './tag-scan.ts';

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

/** In what may be the own closing tag. */
const CLOSING = 0;
const ACTION = bitOf('action');
/** Behind the action: nothing but white space so far on its line. */
const AFTER = 1;
/** In what may be another tag behind it. */
const NEXT = 2;

/** `<action name="…"/>` has been read, up to `next`. */
function beginSelfClosed(r: Reader, at: number, next: number): number {
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
  const foreach = currentForeach(turn.elements);
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

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A thought ignores its attributes. */
export function openThought(turn: Turn, selfClosing: boolean, at: number): void {
  endRun(turn, at);
  const depth = turn.elements.thoughts;
  openElement(turn, { name: 'thought' }, { type: 'open', tag: 'thought', depth }, selfClosing, at);
}

/** Any other opening tag that is not misplaced. */
function openTag(turn: Turn, tag: ReadTag, selfClosing: boolean, at: number): Meaning {
  const { name } = tag;
  if (name === 'response') return openResponse(turn, tag, selfClosing, at);
  if (isControl(name)) return openControl(turn, tag, selfClosing, at);
  if (turn.key !== undefined && tag.attributes.values[KEY] !== turn.key) return unsealed(name);
  const needsMore = !selfClosing || (name === 'action' && hasName(tag.attributes));
  return needsMore ? NEEDS_BODY : noBody(name as BodyTag);
}

function openResponse(turn: Turn, { attributes }: ReadTag, selfClosing: boolean, at: number): Meaning {
  const { elements, output } = turn;
  const floor = findElement(elements, 'if');
  endRun(turn, at, floor + 1);
  closeAbove(turn, floor, 'left_open', at);
  const value = attributes.values[FINAL] ?? 'true';
  const asked = value.toLowerCase();
  if (asked !== 'true' && asked !== 'false') emit(output, badFinal(value), at);
  const final = asked === 'true' && !turn.doubt;
  const depth = elements.thoughts;
  openElement(turn, { name: 'response' }, { type: 'open', tag: 'response', depth, final }, selfClosing, at);
  return COUNTED;
}

/** A control tag that stands where it may. */
function openControl(turn: Turn, tag: ReadTag, selfClosing: boolean, at: number): Meaning {
  const fault = controlFault(turn, tag);
  if (fault !== undefined) {
    turn.doubt = true;
    return fault;
  }
  const { output, elements, book } = turn;
  const { name } = tag;
  const { values } = tag.attributes;
  const branch = findElement(elements, 'if');
  endRun(turn, at, name === 'else' ? branch + 1 : undefined);
  if (name === 'else') closeAbove(turn, branch, 'left_open', at);
  const unknown = unknownName(tag);
  if (unknown !== undefined) emit(output, unknown, at);
  if (name === 'if') {
    const test = values[TEST] ?? '';
    openIf(book);
    openElement(turn, { name, test, inElse: false }, { type: 'if', test, body: 'open' }, selfClosing, at);
  } else if (name === 'foreach') {
    openForeach(book);
    const list = values[IN] ?? '';
    openElement(turn, { name, list, as: values[AS] ?? 'item', actions: [] }, undefined, selfClosing, at);
  } else if (name === 'parallel') {
    const id = groupId(turn, values[ID], at);
    const event = { type: 'parallel', ...(id === undefined ? {} : { id }), body: 'open' } as const;
    openElement(turn, { name, id }, event, selfClosing, at);
  } else {
    const frame = frameAt(elements, branch);
    if (frame?.name === 'if') {
      frame.inElse = true;
      elseIf(book);
      emit(output, { type: 'if', test: frame.test, body: 'else' }, at);
    }
    newRun(turn, false);
  }
  return COUNTED;
}

/** Why a control tag cannot count: what it guards must not run unguarded, so the turn is then in doubt. */
function controlFault({ key }: Turn, { name, attributes, readable }: ReadTag): Fault | undefined {
  const { values } = attributes;
  if (name === 'foreach' && key !== undefined && values[KEY] !== key) return unsealed(name);
  if (!readable || attributes.repeated !== undefined) return controlUnread(name, undefined);
  if (name === 'if' && (values[TEST] ?? '') === '') return controlUnread(name, 'test');
  if (name !== 'foreach') return undefined;
  if ((values[IN] ?? '') === '') return controlUnread(name, 'in');
  return IDENTIFIER.test(values[AS] ?? 'item') ? undefined : controlUnread(name, 'name in "as"');
}

function groupId({ output, book }: Turn, id: string | undefined, at: number): string | undefined {
  if (id === undefined) return undefined;
  if (!isId(id)) emit(output, badValue('parallel', 'id', id, ID_FORM), at);
  else if (takeId(book, id)) return id;
  else emit(output, duplicateGroupId(id), at);
  return undefined;
}

const ELEMENTS = ['thought', 'response', 'if', 'foreach', 'parallel'] as const;

/** The names of closing tags that matter here, one bit each: outside a response a stray one has a fault. */
export function closable({ elements }: Turn): number {
  if (elements.place !== 'response') return ALL_NAMES;
  let bits = 0;
  for (const name of ELEMENTS) if (findElement(elements, name) >= 0) bits |= bitOf(name);
  return bits;
}

export function closeTag(turn: Turn, name: TagName, at: number): Meaning {
  const { elements } = turn;
  const index = isElement(name) ? findElement(elements, name) : -1;
  if (index < 0 || !isElement(name)) return elements.place === 'response' ? SILENT_TEXT : strayClose(name);
  if (isControl(name) && !turn.actionsIn.includes(elements.place))
    return notHere(name, elements.place, turn.actionsIn);
  endRun(turn, at, index);
  closeElement(turn, name, at);
  return COUNTED;
}

/** The closing tag of the innermost element, alone on a line of a fence left open. */
function closeInFence(turn: Turn, name: ElementName, at: number): void {
  endRun(turn, at, findElement(turn.elements, name));
  emit(turn.output, fenceLeftOpenAt(name), at);
  turn.doubt = true;
  closeElement(turn, name, at);
}

/** The end of the stream: all that is open is closed, innermost first. */
export function finishTurn(turn: Turn, fenceIsOpen: boolean, at: number): void {
  endRun(turn, at, 0);
  if (fenceIsOpen) emit(turn.output, fenceLeftOpen(), at);
  closeAbove(turn, -1, 'truncated', at);
  turn.output.consumed = at;
}
