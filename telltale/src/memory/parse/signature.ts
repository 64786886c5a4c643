import { MAX_SHOWN_VALUE, MAX_SIGNATURE } from './limits.ts';

/** Text of a declaration on one line, from one place to another, cut to its bounded size. */
export function oneLine(text: string, from: number, to: number): string {
  // Indentation may take as much as the words: more than is kept is looked at.
  const line = text
    .slice(from, Math.min(to, from + 4 * MAX_SIGNATURE))
    .replace(/\s+/g, ' ')
    .replace(/([([]) /g, '$1')
    .replace(/,? ([)\]])/g, '$1')
    .trim();
  return line.length > MAX_SIGNATURE ? `${line.slice(0, MAX_SIGNATURE - 1)}…` : line;
}

/** The same without what opens a body. */
export const headLine = (text: string, from: number, to: number): string =>
  oneLine(text, from, to).replace(/\s*[{;,]$/, '');

/** A declaration whose value stands at its end: the value is shown where it is short and on one line. */
export function withValue(text: string, from: number, value: number, to: number): string {
  const short = to - value <= MAX_SHOWN_VALUE && !text.slice(value, to).includes('\n');
  return short ? oneLine(text, from, to) : `${headLine(text, from, value)} …`;
}
