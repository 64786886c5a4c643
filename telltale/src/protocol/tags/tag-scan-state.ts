import { ROOT } from './name-trie.ts';
import type { TagName } from './tag-names.ts';

/** Just after the `<`, where every scan begins. */
export const AFTER_LT = 0;

/** How many numbers a span has. */
export const SPAN = 5;

/** A possible tag, read one character at a time. Reused: `startTag` makes it new. */
export interface TagScan {
  phase: number;
  node: number;
  name: TagName | undefined;
  closing: boolean;
  /** It can no longer turn out to be prose: `>`, an `attribute=` or the name of a control tag has been seen. */
  certain: boolean;
  selfClosing: boolean;
  /** Every attribute could be read. */
  readable: boolean;
  quote: number;
  slashBefore: boolean;
  length: number;
  nameFrom: number;
  attributeNode: number;
  /**
   * Five numbers for each attribute: its code, then offsets into the tag: name from, name to, value from, value to
   * (-1 for a bare one). Only the first `spanCount` hold; the array is kept, for its room.
   */
  spans: number[];
  spanCount: number;
}

/** Of all that have read no attribute. Never added to. */
const NO_SPANS: number[] = [];

export function createTagScan(): TagScan {
  return {
    phase: AFTER_LT,
    node: ROOT,
    name: undefined,
    closing: false,
    certain: false,
    selfClosing: false,
    readable: true,
    quote: 0,
    slashBefore: false,
    length: 0,
    nameFrom: 0,
    attributeNode: 0,
    spans: NO_SPANS,
    spanCount: 0,
  };
}

/** What every reader begins a tag with: most lie whole in a chunk, and a scan for each session would be 190 bytes. */
let common = createTagScan();

export const commonScan = (): TagScan => common;

/** Its reader goes on with it at the next chunk: the others get another one. */
export function keepScan(scan: TagScan): void {
  if (scan === common) common = createTagScan();
}

/** Begins with a `<` just seen. */
export function startTag(scan: TagScan): void {
  scan.phase = AFTER_LT;
  scan.node = ROOT;
  scan.name = undefined;
  scan.closing = false;
  scan.certain = false;
  scan.selfClosing = false;
  scan.readable = true;
  scan.length = 1;
  scan.spanCount = 0;
}

export function addSpan(scan: TagScan, code: number, nameFrom: number, nameTo: number): void {
  const { spans, spanCount } = scan;
  scan.spanCount = spanCount + SPAN;
  if (spans.length === 0) {
    scan.spans = [code, nameFrom, nameTo, -1, -1]; // most tags have one: as a list that grows it would have room for three
    return;
  }
  spans[spanCount] = code;
  spans[spanCount + 1] = nameFrom;
  spans[spanCount + 2] = nameTo;
  spans[spanCount + 3] = -1;
  spans[spanCount + 4] = -1;
}

export function startValue(scan: TagScan, offset: number): void {
  scan.spans[scan.spanCount - 2] = offset;
}

export function endValue(scan: TagScan, offset: number): void {
  scan.spans[scan.spanCount - 1] = offset;
}
