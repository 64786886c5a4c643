import type { Place } from '../intents.ts';
import type { ReadTag } from './action-intent.ts';
import { readAttributes } from './attributes.ts';
import {
  type BodyScan,
  BROKEN_BY_CLOSE,
  BROKEN_BY_TAG,
  bodyText,
  createBodyScan,
  endsInStringTail,
  goesOn,
  READING,
  scanBody,
  startBody,
  strictValue,
} from './body-scan.ts';
import { BACKTICK, isSpace, LF, LT } from './chars.ts';
import {
  bodyTooLarge,
  controlUnread,
  type Fault,
  noBody,
  tagTooLong,
  truncatedBody,
  unreadableAttributes,
} from './faults.ts';
import { WORTH_A_CALL } from './index-of-mark.ts';
import {
  BLOCK,
  createMarkdown,
  endRun,
  endText,
  isCalm,
  isStraightAfterClosingRun,
  LINE_BLANK,
  type Markdown,
  PROSE,
  restartLine,
  SPAN,
  stepMarkdown,
} from './markdown.ts';
import { createOutput, endPair, type Output, passText, putText } from './output.ts';
import { BEGINS, createPrelude, type Prelude, startPrelude, stepPrelude, WAITING } from './prelude.ts';
import { skipCalm } from './skip-calm.ts';
import {
  ALL_NAMES,
  type BodyTag,
  bitOf,
  canReach,
  isControl,
  mayBeginTag,
  type TagName,
} from './tag-names.ts';
import {
  BROKEN,
  COMPLETE,
  createTagScan,
  PENDING,
  startTag,
  stepTag,
  type TagScan,
  TOO_LONG,
} from './tag-scan.ts';
import { createTurn, type Meaning, type Turn } from './turn.ts';

// What the next character belongs to.
const TEXT = 0;
const TAG = 1;
/** White space after a closing tag in code, which counts if nothing else follows on its line. */
const TAIL = 2;
/** Between an opening tag and the `{` of its body. */
const PRELUDE = 3;
const BODY = 4;

// Where a possible tag stands. In code only the closing tag of the innermost element can count (rule 2.3).
const IN_PROSE = 1;
const IN_SPAN = 2;
const AFTER_CLOSING_RUN = 3;
const ALONE_IN_BLOCK = 4;

/** A long push is read in parts, so that a search for a mark that is far away is not made again and again. */
const WINDOW = 1024;

export interface ReaderOptions {
  readonly maxBody: number;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly ids: Set<string>;
}

/**
 * The characters of one turn: finds the tags (rules 2.1 to 2.3 and 3) and hands them to the turn. A record and plain
 * functions rather than closures: the engine compiles them once for all turns, which halves the cost of a chunk.
 */
export interface Reader {
  readonly output: Output;
  readonly turn: Turn;
  readonly md: Markdown;
  readonly scan: TagScan;
  readonly prelude: Prelude;
  readonly body: BodyScan;
  mode: number;
  /** Where the chunk being read begins in the stream, and how much has been pushed. */
  offset: number;
  length: number;
  /** What was read of a possible tag in earlier chunks. */
  held: string;
  stands: number;
  lineWasBlank: boolean;
  /** The names a closing tag may have to count where it stands; the others leave at once. */
  closable: number;
  /** Not every tag matters here: it may have to leave before it is complete. */
  restricted: boolean;
  placeChecked: boolean;
  tag: ReadTag | undefined;
  tagLength: number;
  saidTooLarge: boolean;
}

export function createReader({ maxBody, actionsIn, key, ids }: ReaderOptions): Reader {
  const output = createOutput();
  return {
    output,
    turn: createTurn({ output, actionsIn, key, ids }),
    md: createMarkdown(),
    scan: createTagScan(),
    prelude: createPrelude(),
    body: createBodyScan(maxBody),
    mode: TEXT,
    offset: 0,
    length: 0,
    held: '',
    stands: IN_PROSE,
    lineWasBlank: true,
    closable: ALL_NAMES,
    restricted: false,
    placeChecked: false,
    tag: undefined,
    tagLength: 0,
    saidTooLarge: false,
  };
}

export function read(r: Reader, chunk: string): void {
  const at = r.length;
  r.length = at + chunk.length;
  if (r.mode === BODY ? goesOn(r.body, chunk) : r.mode === TEXT && passes(r, chunk)) return;
  if (chunk.length <= WINDOW) feed(r, chunk, at);
  else for (let i = 0; i < chunk.length; i += WINDOW) feed(r, chunk.slice(i, i + WINDOW), at + i);
}

/** Most pushes of prose: a short piece in which nothing can happen. False, and nothing done, where it has to be read. */
function passes({ md, output, length }: Reader, chunk: string): boolean {
  const end = chunk.length;
  if (end >= WORTH_A_CALL || end === 0 || !isCalm(md)) return false;
  let c = 0;
  for (let i = 0; i < end; i++) {
    c = chunk.charCodeAt(i);
    if (c === LT || c === LF || c === BACKTICK) return false;
  }
  return passText(output, chunk, c, length);
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
    else if (r.mode === BODY) i = readBody(r, chunk, i);
    else if (r.mode === TAG) i = readTag(r, chunk, i);
    else if (r.mode === PRELUDE) i = readPrelude(r, chunk, i);
    else i = readTail(r, chunk, i);
  }
  r.offset = outer;
}

function readText(r: Reader, chunk: string, from: number): number {
  const { md } = r;
  const end = chunk.length;
  let i = from;
  for (;;) {
    if (isCalm(md)) i = skipCalm(md, chunk, i);
    if (i >= end) break;
    let c = chunk.charCodeAt(i);
    if (c === LT) {
      if (!mayBeginTag(chunk, i)) c = PLAIN;
      else if (mayBeTag(r)) {
        if (i > from) putText(r.output, chunk.slice(from, i), r.offset + i);
        if (r.output.run.held !== '') endPair(r.output, r.offset + i);
        r.mode = TAG;
        r.held = '<';
        return i + 1;
      }
    }
    stepMarkdown(md, c);
    i++;
  }
  if (end > from) putText(r.output, from === 0 ? chunk : chunk.slice(from), r.offset + end);
  return end;
}

/** To Markdown a `<` is a character like any other; this one spares it the watch for tags in fences. */
const PLAIN = 120;

/** At a `<`: whether it may begin a tag that counts or has a fault; then the scan is ready for the rest. */
function mayBeTag(r: Reader): boolean {
  const { md, turn } = r;
  endRun(md);
  const { innermost } = turn.elements;
  if (md.code === PROSE) r.stands = IN_PROSE;
  else if (innermost === undefined) return false;
  else if (md.code === SPAN) r.stands = IN_SPAN;
  else if (isStraightAfterClosingRun(md)) r.stands = AFTER_CLOSING_RUN;
  else if (md.code === BLOCK && md.line === LINE_BLANK && md.unclosed === 0) r.stands = ALONE_IN_BLOCK;
  else return false;
  startTag(r.scan);
  r.lineWasBlank = md.line === LINE_BLANK;
  r.placeChecked = false;
  if (r.stands !== IN_PROSE && innermost !== undefined) r.closable = bitOf(innermost);
  else r.closable = turn.closable();
  r.restricted = r.stands !== IN_PROSE || r.closable !== ALL_NAMES;
  return true;
}

function readTag(r: Reader, chunk: string, from: number): number {
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
      return endTag(r, r.held + chunk.slice(from, after), r.offset + after, after);
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
  return r.turn.misplaced(name, r.lineWasBlank);
}

/** The fault of a tag that never ended. In code it is no tag; a control tag guards what follows it. */
function unfinished({ scan, stands, turn }: Reader, fault: Fault | undefined): Fault | undefined {
  if (stands !== IN_PROSE) return undefined;
  if (!scan.closing && scan.name !== undefined && isControl(scan.name)) turn.putInDoubt();
  return fault;
}

function brokenTag(name: TagName | undefined): Fault | undefined {
  if (name === undefined) return undefined;
  return isControl(name) ? controlUnread(name, undefined) : unreadableAttributes(name);
}

/** What was held is text: its Markdown counts, but it is not searched for tags. Goes on at `next`. */
function release(r: Reader, text: string, at: number, next: number, fault?: Fault): number {
  if (fault !== undefined) r.turn.faultBeforeText(fault, at - text.length);
  putText(r.output, text, at);
  for (let i = 0; i < text.length; i++) stepMarkdown(r.md, text.charCodeAt(i));
  r.mode = TEXT;
  return next;
}

function counted(r: Reader): void {
  r.mode = TEXT;
  restartLine(r.md);
  r.md.watched = r.turn.elements.innermost;
}

function endTag(r: Reader, text: string, at: number, next: number): number {
  const { scan, turn, stands } = r;
  const name = scan.name as TagName;
  if (stands === IN_SPAN || stands === ALONE_IN_BLOCK) {
    r.mode = TAIL;
    r.held = text;
    r.tagLength = text.length;
    return next;
  }
  if (!scan.closing && !r.placeChecked) {
    const fault = misplaced(r, name);
    if (fault !== undefined) return release(r, text, at, next, fault);
  }
  const meaning = scan.closing ? turn.close(name, at) : openTag(r, name, text, at);
  if (meaning.is === 'text') return release(r, text, at, next, meaning.fault);
  if (meaning.is === 'counted') {
    counted(r);
    return next;
  }
  r.mode = PRELUDE;
  r.held = text;
  r.tag = meaning.tag;
  r.tagLength = text.length;
  startPrelude(r.prelude);
  return next;
}

function openTag({ scan, turn }: Reader, name: TagName, text: string, at: number): Meaning {
  if (name === 'thought') return turn.openThought(scan.selfClosing, at);
  const tag = { name, attributes: readAttributes(scan, text), readable: scan.readable };
  return turn.open(tag, scan.selfClosing, at);
}

function readTail(r: Reader, chunk: string, from: number): number {
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
function closeFromCode(r: Reader, at: number): void {
  const { turn } = r;
  const space = r.held.slice(r.tagLength);
  const name = turn.elements.innermost;
  if (name === undefined) return;
  if (r.stands === ALONE_IN_BLOCK) turn.closeInFence(name, at - space.length);
  else turn.close(name, at - space.length);
  counted(r);
  if (space !== '') release(r, space, at, 0);
}

function readPrelude(r: Reader, chunk: string, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const verdict = stepPrelude(r.prelude, chunk.charCodeAt(i));
    if (verdict === WAITING) continue;
    const text = r.held + chunk.slice(from, i);
    const name = r.tag?.name as BodyTag;
    if (verdict !== BEGINS) return release(r, text, r.offset + i, i, noBody(name));
    r.turn.beginBody(r.offset + i - text.length);
    counted(r);
    r.mode = BODY;
    r.saidTooLarge = false;
    startBody(r.body, name, text.slice(r.tagLength));
    return i;
  }
  r.held += chunk.slice(from);
  return chunk.length;
}

function readBody(r: Reader, chunk: string, from: number): number {
  const { body } = r;
  const next = scanBody(body, chunk, from);
  if (body.tooLarge && !r.saidTooLarge) {
    r.saidTooLarge = true;
    r.turn.fault(bodyTooLarge(body.tag, body.maxLength), r.offset + next);
  }
  if (body.state !== READING) leaveBody(r, r.offset + next);
  return next;
}

function leaveBody(r: Reader, at: number): void {
  const { body, turn } = r;
  const { candidate } = body;
  const tag = r.tag as ReadTag;
  counted(r);
  if (body.state === BROKEN_BY_TAG) {
    turn.breakBody(tag, body.tooLarge, at - candidate.length);
    feed(r, candidate, at - candidate.length);
  } else if (body.state === BROKEN_BY_CLOSE) {
    const space = candidate.slice(candidate.indexOf('>') + 1);
    turn.breakBody(tag, body.tooLarge, at - space.length);
    if (space !== '') release(r, space, at, 0);
  } else if (!body.tooLarge) turn.endBody(tag, bodyText(body), strictValue(body), at);
}
