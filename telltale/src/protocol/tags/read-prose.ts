import { LT } from '../prose/chars.ts';
import { endPair, putText } from '../prose/output.ts';
import { mayBeHeld } from '../prose/run.ts';
import { closable } from './close-tag.ts';
import { WORTH_THREE_CALLS } from './index-of-mark.ts';
import {
  BLOCK,
  endRun,
  isCalm,
  isStraightAfterClosingRun,
  LINE_BLANK,
  PROSE,
  SPAN,
  stepMarkdown,
} from './markdown.ts';
import { AFTER_CLOSING_RUN, ALONE_IN_BLOCK, IN_PROSE, IN_SPAN, type Reader, TAG } from './reader-state.ts';
import { skipCalm } from './skip-calm.ts';
import { ALL_NAMES, bitOf, tagNode } from './tag-names.ts';
import { commonScan, startTag } from './tag-scan-state.ts';
import { readWholeTag } from './whole-tag.ts';

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
