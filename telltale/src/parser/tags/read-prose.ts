import { endPair, mayBeHeld, putText } from '../prose/output.ts';
import { NO_ATTRIBUTES, readAttributes } from './action-intent.ts';
import { earlier, WORTH_THREE_CALLS } from './body.ts';
import { COUNTED, findElement, placement } from './elements.ts';
import {
  BLOCK,
  endRun,
  enterLine,
  isCalm,
  isStraightAfterClosingRun,
  LINE_BLANK,
  type Markdown,
  PROSE,
  SPAN,
  stepMarkdown,
} from './markdown.ts';
import {
  ALL_NAMES,
  attributeCode,
  bitOf,
  EQUALS,
  GT,
  isElement,
  isSpace,
  LT,
  nameAt,
  nextAttributeNode,
  OTHER,
  QUOTE,
  ROOT,
  SLASH,
  spellingLength,
  type TagName,
  tagNode,
} from './names.ts';
import { closable, closeTag, endOpeningTag, faultOf, openThought } from './read-tag.ts';
import {
  AFTER_CLOSING_RUN,
  ALONE_IN_BLOCK,
  counted,
  IN_PROSE,
  IN_SPAN,
  type Reader,
  release,
  TAG,
} from './reader-state.ts';
import { addSpan, commonScan, endValue, startTag, startValue, type TagScan } from './tag-scan.ts';

/**
 * To Markdown a `<` is a character like any other; this one spares it the watch for tags in fences, unless it is in one:
 * a `<` breaks that off.
 */
const PLAIN = 120;

/** Most pushes of calm prose: a piece in which nothing can happen and which leaves as it is. */
export function passes(chunk: string): boolean {
  const end = chunk.length;
  if (end === 0) return false;
  if (end < WORTH_THREE_CALLS) {
    for (let i = 0; i < end; i++) {
      const c = chunk.charCodeAt(i);
      if (c === 60 /* < */ || c === 10 || c === 96 /* ` */) return false;
    }
  } else if (chunk.includes('\n') || chunk.includes('<') || chunk.includes('`')) return false;
  return !mayBeHeld(chunk.charCodeAt(end - 1));
}

export function readText(r: Reader, chunk: string, from: number): number {
  const { md } = r;
  const end = chunk.length;
  let i = from;
  for (;;) {
    if (isCalm(md)) i = skipCalm(md, chunk, i);
    if (i >= end) break;
    let c = chunk.charCodeAt(i);
    if (c === LT) {
      const node = tagNode(chunk, i);
      if (node === 0) {
        if (!md.shadowing) c = PLAIN;
      } else if (mayBeTag(r)) {
        if (i > from) putText(r.output, chunk.slice(from, i), r.offset + i);
        if (r.output.run.held !== '') endPair(r.output, r.offset + i);
        const after = r.stands === IN_PROSE ? readWholeTag(r, chunk, i, node) : 0;
        if (after !== 0) return after;
        startSteps(r);
        return i + 1;
      }
    }
    stepMarkdown(md, c);
    i++;
  }
  if (end > from) putText(r.output, from === 0 ? chunk : chunk.slice(from), r.offset + end);
  return end;
}

/** At a `<`: whether it may begin a tag that counts or has a fault, and where that stands. */
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
  r.lineWasBlank = md.line === LINE_BLANK;
  return true;
}

/** After the `<` of a tag that has to be read by the character: chunks cut it, or it is not written plainly. */
function startSteps(r: Reader): void {
  const { innermost } = r.turn.elements;
  r.mode = TAG;
  r.held = '<';
  r.scan = commonScan();
  startTag(r.scan);
  r.placeChecked = false;
  if (r.stands !== IN_PROSE && innermost !== undefined) r.closable = bitOf(innermost);
  else r.closable = closable(r.turn);
  r.restricted = r.stands !== IN_PROSE || r.closable !== ALL_NAMES;
}

/**
 * Where text is calm, only `<`, a line break or a mark of code changes anything. Skips to the next of them, and over
 * line breaks too where that is safe; returns the index to go on from.
 */
function skipCalm(md: Markdown, text: string, from: number): number {
  const end = text.length;
  if (end - from >= WORTH_THREE_CALLS) {
    const tag = earlier(text.indexOf('<', from), end);
    if (tag - from >= WORTH_THREE_CALLS) return skipLong(md, text, from, tag);
  }
  for (let i = from; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c === 60 /* < */ || c === 10 || c === 96 /* ` */) return i;
  }
  return end;
}

/** Up to the next mark no run can begin, so of all lines in between only the last one matters. */
function skipLong(md: Markdown, text: string, from: number, tag: number): number {
  let stop = earlier(text.indexOf('`', from), tag);
  const first = text.indexOf('\n', from);
  if (first < 0 || first >= stop) return stop;
  if (md.code === SPAN) return first;
  // Tildes are a mark at the start of a line only.
  stop = earlier(text.indexOf('~', first), stop);
  // Forwards, because `lastIndexOf` is several times as slow as `indexOf`.
  let last = first;
  for (let next = first; next >= 0 && next < stop; next = text.indexOf('\n', next + 1)) last = next;
  enterLine(md);
  for (let i = last + 1; i < stop && !isCalm(md); i++) stepMarkdown(md, text.charCodeAt(i));
  return stop;
}

/**
 * Reads at once a tag in prose that lies whole in the chunk and is written plainly: a closing tag, or an opening one whose
 * attributes are known ones in double quotes. Returns the index after its `>`; 0, and nothing done, for any other, which
 * has to be read by the character. `node` is what `tagNode` gave for the `<` at `at`.
 */
function readWholeTag(r: Reader, chunk: string, at: number, node: number): number {
  const name = nameAt(node);
  if (name === undefined) return 0;
  if (chunk.charCodeAt(at + 1) === SLASH) {
    const end = at + 2 + spellingLength(node);
    return chunk.charCodeAt(end) === GT ? readWholeClose(r, chunk, at, end + 1, name) : 0;
  }
  // One that may not stand here is text from where that is certain, which only the steps tell.
  const { elements, actionsIn } = r.turn;
  if (placement(elements, actionsIn, name, r.lineWasBlank) !== undefined) return 0;
  return readWholeOpen(r, chunk, at, at + 1 + spellingLength(node), name);
}

function readWholeClose(r: Reader, chunk: string, at: number, next: number, name: TagName): number {
  const { turn } = r;
  // In a response one that closes nothing is text as soon as that is certain.
  if (turn.elements.place === 'response' && !(isElement(name) && findElement(turn.elements, name) >= 0))
    return 0;
  const meaning = closeTag(turn, name, r.offset + next);
  if (meaning !== COUNTED) return release(r, chunk.slice(at, next), r.offset + next, next, faultOf(meaning));
  counted(r);
  return next;
}

function readWholeOpen(r: Reader, chunk: string, at: number, from: number, name: TagName): number {
  const { turn } = r;
  const isBare = chunk.charCodeAt(from) === GT;
  const scan = commonScan();
  startTag(scan);
  const next = isBare ? from + 1 : scanPlainAttributes(scan, chunk, at, from);
  if (next === 0) return 0;
  if (name === 'thought') {
    openThought(turn, scan.selfClosing, r.offset + next);
    counted(r);
    return next;
  }
  const text = chunk.slice(at, next);
  const attributes = isBare ? NO_ATTRIBUTES : readAttributes(scan, text);
  return endOpeningTag(
    r,
    { name, attributes, readable: true },
    scan.selfClosing,
    text,
    r.offset + next,
    next,
  );
}

// What the next character of the attributes belongs to.
const BETWEEN = 0;
const NAME = 1;
const BEFORE_VALUE = 2;
const AFTER_SLASH = 3;

/** One look at a character in one loop: each place that has one is some 500 bytes of machine code. */
function scanPlainAttributes(scan: TagScan, text: string, at: number, from: number): number {
  let phase = BETWEEN;
  let spaced = false;
  let nameFrom = 0;
  let node = ROOT;
  for (let i = from; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (phase === NAME) {
      const next = nextAttributeNode(node, c);
      if (next !== 0) node = next;
      else if (c !== EQUALS || attributeCode(node) === OTHER) return 0;
      else phase = BEFORE_VALUE;
    } else if (phase === BEFORE_VALUE) {
      const to = c === QUOTE ? text.indexOf('"', i + 1) : -1;
      if (to < 0) return 0;
      addSpan(scan, attributeCode(node), nameFrom - at, i - 1 - at);
      startValue(scan, i + 1 - at);
      endValue(scan, to - at);
      i = to;
      phase = BETWEEN;
      spaced = false;
    } else if (phase === AFTER_SLASH) {
      scan.selfClosing = true;
      return c === GT ? i + 1 : 0;
    } else if (isSpace(c)) spaced = true;
    else if (c === GT) return i + 1;
    else if (c === SLASH) phase = AFTER_SLASH;
    else {
      node = nextAttributeNode(ROOT, c);
      if (!spaced || node === 0) return 0;
      nameFrom = i;
      phase = NAME;
    }
  }
  return 0;
}
