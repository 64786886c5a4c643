/** `end`, or one less where it would part a surrogate pair. */
export function wholeEnd(text: string, end: number): number {
  return end > 0 && end < text.length && isLow(text, end) && isHigh(text, end - 1) ? end - 1 : end;
}

const isHigh = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** At most `max` characters, with `…` where something is missing. */
export function clip(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, wholeEnd(text, max))}…` : text;
}

export interface Cut {
  readonly head: string;
  readonly tail: string;
  /** Characters between them. */
  readonly omitted: number;
}

/** Three parts of four from the beginning: most outputs say first what they are. */
const HEAD_SHARE = 0.75;

/** The beginning and the end of a text, `max` characters together; all of it where it is no longer. */
export function cutText(text: string, max: number): Cut {
  if (text.length <= max) return { head: text, tail: '', omitted: 0 };
  const headEnd = wholeEnd(text, Math.ceil(max * HEAD_SHARE));
  const tailStart = wholeEnd(text, text.length - Math.floor(max * (1 - HEAD_SHARE)));
  return { head: text.slice(0, headEnd), tail: text.slice(tailStart), omitted: tailStart - headEnd };
}

/** The same, cut between two lines where one of them is not longer than what is shown. */
export function cutLines(text: string, max: number): Cut {
  const { head, tail, omitted } = cutText(text, max);
  if (omitted === 0) return { head, tail, omitted };
  const headEnd = head.lastIndexOf('\n') + 1;
  const tailStart = tail.indexOf('\n') + 1;
  const first = headEnd === 0 ? head : head.slice(0, headEnd);
  const last = tail.slice(tailStart);
  return { head: first, tail: last, omitted: text.length - first.length - last.length };
}
