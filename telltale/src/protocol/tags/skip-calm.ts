import { earlier, WORTH_THREE_CALLS } from './index-of-mark.ts';
import { enterLine, isCalm, type Markdown, SPAN, stepMarkdown } from './markdown.ts';

/**
 * Where text is calm, only `<`, a line break or a mark of code changes anything. Skips to the next of them, and over
 * line breaks too where that is safe; returns the index to go on from.
 */
export function skipCalm(md: Markdown, text: string, from: number): number {
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
