import type { Excerpt } from './diagnostic.ts';
import { printable } from './printable.ts';

/** Code units of a source line that are shown, and of those how many stand before the caret. */
const MAX_SHOWN = 96;
const BEFORE_CARET = 40;
const MAX_CARET = 60;

/**
 * A line as it may be shown: a long one is clipped round the caret, indentation in front of it is dropped, and what
 * a terminal would act on (tabs, control and direction characters) is replaced by one harmless character each.
 */
export function excerptOf(line: string, caretFrom: number, caretLength: number): Excerpt {
  const length = Math.min(caretLength, MAX_CARET);
  const indent = Math.min(line.length - line.trimStart().length, caretFrom);
  const wholeFits = line.length - indent <= MAX_SHOWN;
  const from = wholeFits ? indent : notInsidePair(line, Math.max(indent, caretFrom - BEFORE_CARET));
  const to = wholeFits ? line.length : notInsidePair(line, Math.min(line.length, from + MAX_SHOWN));
  const head = from > indent ? '…' : '';
  const tail = to < line.length ? '…' : '';
  const shownFrom = caretFrom - from + head.length;
  return {
    text: head + printable(line.slice(from, to).trimEnd()) + tail,
    caretFrom: shownFrom,
    caretLength: Math.max(1, Math.min(length, to - caretFrom)),
  };
}

/** Moves a cut that would split a surrogate pair to before it. */
function notInsidePair(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
