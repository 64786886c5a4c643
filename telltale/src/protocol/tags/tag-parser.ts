import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ParserEvent, Place } from '../intents.ts';
import type { ReadTag } from './action-intent.ts';
import { readAttributes } from './attributes.ts';
import {
  BROKEN_BY_CLOSE,
  BROKEN_BY_TAG,
  createBodyScan,
  endsInStringTail,
  READING,
  scanBody,
  startBody,
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
import {
  BLOCK,
  createMarkdown,
  endRun,
  endText,
  isCalm,
  isStraightAfterClosingRun,
  LINE_BLANK,
  PROSE,
  restartLine,
  SPAN,
  stepMarkdown,
} from './markdown.ts';
import { BEGINS, createPrelude, startPrelude, stepPrelude, WAITING } from './prelude.ts';
import { type BodyTag, bitOf, canReach, isControl, type TagName } from './tag-names.ts';
import { BROKEN, COMPLETE, createTagScan, PENDING, startTag, stepTag, TOO_LONG } from './tag-scan.ts';
import { createTurn } from './turn.ts';

export interface TagParserOptions {
  /** The most characters a body may have between its tags; 1 MiB by default. */
  readonly max_body?: number;
  /** Where actions, metadata and control tags count; outside and in thoughts by default. */
  readonly actions_in?: readonly Place[];
  /** The session's seal: with it, a tag that acts must carry `key="…"`. */
  readonly key?: string;
  /** The ids taken in the session so far; the parser adds to it. */
  readonly ids?: Set<string>;
}

/** Reads one turn of a model's stream. Synchronous, without I/O, and never throws for what a model writes. */
export interface TagParser {
  /** Takes the next piece of the stream and returns what it made certain. */
  push(chunk: string): ParserEvent[];
  /** Says that the stream is over and returns what was still open or held. */
  end(): ParserEvent[];
  /** How many characters of the stream the events returned so far account for. */
  readonly consumed: number;
}

const DEFAULT_MAX_BODY = 1024 * 1024;
const DEFAULT_ACTIONS_IN: readonly Place[] = ['outside', 'thought'];

// What the next character belongs to.
const TEXT = 0;
const TAG = 1;
/** White space after a closing tag in code, which counts if nothing else follows on its line. */
const TAIL = 2;
/** Between an opening tag and the `{` of its body. */
const PRELUDE = 3;
const BODY = 4;

// Where a possible tag stands. In code only the closing tag of the innermost element can count (rule 2.3).
const NOWHERE = 0;
const IN_PROSE = 1;
const IN_SPAN = 2;
const AFTER_CLOSING_RUN = 3;
const ALONE_IN_BLOCK = 4;

export function createTagParser(options: TagParserOptions = {}): TagParser {
  const maxBody = options.max_body ?? DEFAULT_MAX_BODY;
  const turn = createTurn({
    actionsIn: options.actions_in ?? DEFAULT_ACTIONS_IN,
    key: options.key,
    ids: options.ids ?? new Set(),
  });
  const md = createMarkdown();
  const scan = createTagScan();
  const prelude = createPrelude();
  const body = createBodyScan(maxBody);

  let mode = TEXT;
  let ended = false;
  /** Offset of the chunk being read in the stream. */
  let offset = 0;
  let length = 0;
  /** What was read of a possible tag in earlier chunks, and where it stands. */
  let held = '';
  let stands = NOWHERE;
  let lineWasBlank = false;
  /** The names a closing tag may have to count where it stands; the others leave at once. */
  let closable = 0;
  let placeChecked = false;
  let tag: ReadTag | undefined;
  let tagLength = 0;
  let saidTooLarge = false;

  const feed = (chunk: string, at: number) => {
    const outer = offset;
    offset = at;
    for (let i = 0; i < chunk.length; ) {
      if (mode === TEXT) i = readText(chunk, i);
      else if (mode === BODY) i = readBody(chunk, i);
      else if (mode === TAG) i = readTag(chunk, i);
      else if (mode === PRELUDE) i = readPrelude(chunk, i);
      else i = readTail(chunk, i);
    }
    offset = outer;
  };

  const readText = (chunk: string, from: number): number => {
    const end = chunk.length;
    let i = from;
    for (;;) {
      if (isCalm(md)) {
        while (i < end) {
          const c = chunk.charCodeAt(i);
          if (c === LT || c === LF || c === BACKTICK) break;
          i++;
        }
      }
      if (i >= end) break;
      const c = chunk.charCodeAt(i);
      if (c === LT && mayBeTag()) {
        if (i > from) turn.text(chunk.slice(from, i), offset + i);
        mode = TAG;
        held = '<';
        return i + 1;
      }
      stepMarkdown(md, c);
      i++;
    }
    if (end > from) turn.text(from === 0 ? chunk : chunk.slice(from), offset + end);
    return end;
  };

  /** At a `<`: whether it may begin a tag that counts or has a fault; then the scan is ready for the rest. */
  const mayBeTag = (): boolean => {
    endRun(md);
    const { innermost } = turn;
    if (md.code === PROSE) stands = IN_PROSE;
    else if (innermost === undefined) return false;
    else if (md.code === SPAN) stands = IN_SPAN;
    else if (isStraightAfterClosingRun(md)) stands = AFTER_CLOSING_RUN;
    else if (md.code === BLOCK && md.line === LINE_BLANK && md.unclosed === 0) stands = ALONE_IN_BLOCK;
    else return false;
    startTag(scan);
    lineWasBlank = md.line === LINE_BLANK;
    placeChecked = false;
    if (stands !== IN_PROSE && innermost !== undefined) closable = bitOf(innermost);
    else closable = turn.inResponse ? turn.closable() : -1;
    return true;
  };

  const readTag = (chunk: string, from: number): number => {
    for (let i = from; i < chunk.length; i++) {
      const verdict = stepTag(scan, chunk.charCodeAt(i));
      if (verdict === PENDING) {
        if (cannotCount()) return release(held + chunk.slice(from, i + 1), offset + i + 1, i + 1);
        if (scan.certain && !placeChecked && scan.name !== undefined) {
          const fault = misplaced(scan.name);
          if (fault !== undefined)
            return release(held + chunk.slice(from, i + 1), offset + i + 1, i + 1, fault);
        }
      } else if (verdict === COMPLETE) return endTag(held + chunk.slice(from, i + 1), offset + i + 1, i + 1);
      else if (verdict === TOO_LONG) {
        return release(
          held + chunk.slice(from, i + 1),
          offset + i + 1,
          i + 1,
          unfinished(tagTooLong(scan.name)),
        );
      } else {
        const fault = verdict === BROKEN ? unfinished(brokenTag(scan.name)) : undefined;
        return release(held + chunk.slice(from, i), offset + i, i, fault);
      }
    }
    held += chunk.slice(from);
    return chunk.length;
  };

  /** A closing tag that can no longer be one of those that count here, or an opening tag in code. */
  const cannotCount = (): boolean =>
    scan.closing ? scan.name === undefined && !canReach(scan.node, closable) : stands !== IN_PROSE;

  const misplaced = (name: TagName): Fault | undefined => {
    placeChecked = true;
    return turn.misplaced(name, lineWasBlank);
  };

  /** The fault of a tag that never ended. In code it is no tag; a control tag guards what follows it. */
  const unfinished = (fault: Fault | undefined): Fault | undefined => {
    if (stands !== IN_PROSE) return undefined;
    if (!scan.closing && scan.name !== undefined && isControl(scan.name)) turn.putInDoubt();
    return fault;
  };

  const brokenTag = (name: TagName | undefined): Fault | undefined =>
    name === undefined
      ? undefined
      : isControl(name)
        ? controlUnread(name, undefined)
        : unreadableAttributes(name);

  /** What was held is text: its Markdown counts, but it is not searched for tags. Goes on at `next`. */
  const release = (text: string, at: number, next: number, fault?: Fault): number => {
    if (fault !== undefined) turn.faultBeforeText(fault, at - text.length);
    turn.text(text, at);
    for (let i = 0; i < text.length; i++) stepMarkdown(md, text.charCodeAt(i));
    mode = TEXT;
    return next;
  };

  const counted = () => {
    mode = TEXT;
    restartLine(md);
    md.watched = turn.innermost;
  };

  const endTag = (text: string, at: number, next: number): number => {
    const name = scan.name as TagName;
    if (stands === IN_SPAN || stands === ALONE_IN_BLOCK) {
      mode = TAIL;
      held = text;
      tagLength = text.length;
      return next;
    }
    if (!scan.closing && !placeChecked) {
      const fault = misplaced(name);
      if (fault !== undefined) return release(text, at, next, fault);
    }
    const meaning = scan.closing
      ? turn.close(name, at)
      : turn.open(
          { name, attributes: readAttributes(scan, text), readable: scan.readable },
          scan.selfClosing,
          at,
        );
    if (meaning.is === 'text') return release(text, at, next, meaning.fault);
    if (meaning.is === 'counted') {
      counted();
      return next;
    }
    mode = PRELUDE;
    held = text;
    tag = meaning.tag;
    tagLength = text.length;
    startPrelude(prelude);
    return next;
  };

  const readTail = (chunk: string, from: number): number => {
    for (let i = from; i < chunk.length; i++) {
      const c = chunk.charCodeAt(i);
      if (c === LF) {
        held += chunk.slice(from, i);
        closeFromCode(offset + i);
        return i;
      }
      if (!isSpace(c)) return release(held + chunk.slice(from, i), offset + i, i);
    }
    held += chunk.slice(from);
    return chunk.length;
  };

  /** The closing tag in code counts; the white space after it begins the next run. */
  const closeFromCode = (at: number) => {
    const space = held.slice(tagLength);
    const name = turn.innermost;
    if (name === undefined) return;
    if (stands === ALONE_IN_BLOCK) turn.closeInFence(name, at - space.length);
    else turn.close(name, at - space.length);
    counted();
    if (space !== '') release(space, at, 0);
  };

  const readPrelude = (chunk: string, from: number): number => {
    for (let i = from; i < chunk.length; i++) {
      const verdict = stepPrelude(prelude, chunk.charCodeAt(i));
      if (verdict === WAITING) continue;
      const text = held + chunk.slice(from, i);
      const name = tag?.name as BodyTag;
      if (verdict !== BEGINS) return release(text, offset + i, i, noBody(name));
      turn.beginBody(offset + i - text.length);
      counted();
      mode = BODY;
      saidTooLarge = false;
      startBody(body, name, text.slice(tagLength));
      return i;
    }
    held += chunk.slice(from);
    return chunk.length;
  };

  const readBody = (chunk: string, from: number): number => {
    const next = scanBody(body, chunk, from);
    if (body.tooLarge && !saidTooLarge) {
      saidTooLarge = true;
      turn.fault(bodyTooLarge(body.tag, maxBody), offset + next);
    }
    if (body.state !== READING) leaveBody(offset + next);
    return next;
  };

  const leaveBody = (at: number) => {
    const { candidate } = body;
    const readTag = tag as ReadTag;
    counted();
    if (body.state === BROKEN_BY_TAG) {
      turn.breakBody(readTag, body.tooLarge, at - candidate.length);
      feed(candidate, at - candidate.length);
    } else if (body.state === BROKEN_BY_CLOSE) {
      const space = candidate.slice(candidate.indexOf('>') + 1);
      turn.breakBody(readTag, body.tooLarge, at - space.length);
      if (space !== '') release(space, at, 0);
    } else turn.endBody(readTag, body.raw, body.tooLarge, at);
    body.raw = '';
  };

  return {
    push(chunk) {
      if (ended) throw pushedAfterEnd();
      const at = length;
      length += chunk.length;
      feed(chunk, at);
      return turn.takeEvents();
    },
    end() {
      if (ended) return [];
      ended = true;
      if (mode === TAG) release(held, length, 0);
      else if (mode === TAIL) closeFromCode(length);
      else if (mode === PRELUDE) release(held, length, 0, noBody(tag?.name as BodyTag));
      else if (mode === BODY && endsInStringTail(body)) turn.breakBody(tag as ReadTag, body.tooLarge, length);
      else if (mode === BODY && !body.tooLarge) turn.fault(truncatedBody(body.tag), length);
      turn.finish(endText(md), length);
      return turn.takeEvents();
    },
    get consumed() {
      return turn.consumed;
    },
  };
}

const pushedAfterEnd = () =>
  new RuntimeError('parser_ended', 'push() was called on a parser whose end() has been called.', {
    hint: 'A parser reads one turn: create a new one for the next.',
  });
