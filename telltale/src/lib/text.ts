import type { Json } from './json.ts';

/**
 * Characters that change what a person reads without being seen: controls, direction marks, zero-width and other format
 * characters, line separators, fillers, variation selectors, tags and lone surrogates. Tabs, line breaks and blanks are
 * text.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffc]|[\u{e0000}-\u{e0fff}]|[\u{1d173}-\u{1d17a}]|\p{Cf}|\p{Surrogate}/gu;

/** `\u{202E}`: nothing else in a text looks like it, and it can be searched for. */
const marked = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`;

/**
 * Text as it may stand next to a decision: what cannot be seen is spelled out, so that what is read is what is there.
 * The same for the console, the command line and notifications.
 */
export const visibleText = (text: string): string => text.replace(INVISIBLE, marked);

/** How many characters `visibleText` spells out, in these texts together. */
const countInvisible = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + (text.match(INVISIBLE)?.length ?? 0), 0);

/** All keys and texts in a value, at any depth: where `invisibleWarning` looks. */
export function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (typeof each === 'string') texts.push(each);
    else if (typeof each === 'object' && each !== null)
      for (const [key, inner] of Object.entries(each)) {
        if (!Array.isArray(each)) texts.push(key);
        open.push(inner);
      }
  }
  return texts;
}

/** What a person is told beside such a text; undefined where everything in it can be seen. */
export function invisibleWarning(...texts: readonly string[]): string | undefined {
  const count = countInvisible(...texts);
  if (count === 0) return undefined;
  return `Contains ${count} invisible or direction-changing ${count === 1 ? 'character' : 'characters'}, shown as \\u{…}.`;
}

/** A shorter text is left as it is: its pieces are few. */
const MIN_LAID_OUT = 128;

/** Matches at once. What has no effect the engine may leave out. */
const BEGINNING = /^/;

/** Has the engine lay a text out that was put together of pieces, by looking at it. */
export function layOut(text: string): void {
  BEGINNING.test(text);
}

/**
 * `text` with `piece` behind it. The engine keeps what is put together as a tree of its pieces until somebody looks into
 * it, at 32 bytes a piece: a text that grows for as long as a model speaks is laid out at each quarter of the way to twice
 * its length. So a piece costs a constant number of copies, and the tree is never more than a fifth of the text.
 */
export function extendText(text: string, piece: string): string {
  const longer = text + piece;
  if (longer.length >= MIN_LAID_OUT && quarterOf(longer.length) !== quarterOf(text.length)) layOut(longer);
  return longer;
}

/** Counts powers of two, and between them quarters of the way to the next. */
function quarterOf(length: number): number {
  const power = 31 - Math.clz32(length);
  return power * 4 + ((length >> (power - 2)) & 3);
}

/** A feed's value as a model reads it: text as it is, anything else as JSON with lines that it can be cut at. */
export const feedText = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2);

/** A line of a comparison: in both, only in the old text, or only in the new one. */
export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new';
  readonly text: string;
}

/** Lines of each text: the table of the comparison has as many cells as their product. */
const MAX_LINES = 2000;

/** What changed from one text to the other, line by line. Longer texts are compared as a whole. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const all = (texts: readonly string[], kind: DiffLine['kind']) => texts.map((text) => ({ kind, text }));
  if (old.length > MAX_LINES || fresh.length > MAX_LINES) return [...all(old, 'old'), ...all(fresh, 'new')];
  const width = fresh.length + 1;
  /** The length of the longest common part of what is left of both, from each pair of places. */
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === fresh[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ kind: 'same', text: old[i] ?? '' });
      i++;
      j++;
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
      lines.push({ kind: 'old', text: old[i++] ?? '' });
    else lines.push({ kind: 'new', text: fresh[j++] ?? '' });
  }
  return [...lines, ...all(old.slice(i), 'old'), ...all(fresh.slice(j), 'new')];
}

/** Only what changed, and so many lines around it; undefined stands for what is left out. */
export function hunks(lines: readonly DiffLine[], around = 3): readonly (DiffLine | undefined)[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== 'same'),
  );
  return lines.flatMap((line, at) => (near[at] ? [line] : at === 0 || near[at - 1] ? [undefined] : []));
}

/** Every name of the protocol, in all its spellings: what text from outside may not say as a tag. */
export const RESERVED_NAMES = [
  'thought',
  'think',
  'thinking',
  'action',
  'metadata',
  'response',
  'if',
  'else',
  'foreach',
  'parallel',
  'result',
  'context_feed',
] as const;

/** What makes a `<` a reserved tag. At the end of a text, too: what is put after it could make it one. */
const TAG_NAME = `(?=/?(?:${RESERVED_NAMES.join('|')})(?:[ \\t\\r\\n/>]|$))`;

const RESERVED_TAG = new RegExp(`<${TAG_NAME}`, 'g');
const ESCAPED_TAG = new RegExp(`&lt;${TAG_NAME}`, 'g');

/**
 * Writes the `<` of reserved tags as `&lt;`. They are lower case, as the parser reads them: `Vec<Result>` in somebody's
 * code stays as it is.
 */
export function escapeReservedTags(text: string): string {
  return text.includes('<') ? text.replace(RESERVED_TAG, '&lt;') : text;
}

/** The opposite, for text that a model copied from where it was shown. */
export function unescapeReservedTags(text: string): string {
  return text.includes('&lt;') ? text.replace(ESCAPED_TAG, '<') : text;
}

/** Where a text has `&lt;` in front of a reserved tag's name. */
export const escapedTagsIn = (text: string): readonly number[] =>
  Array.from(text.matchAll(ESCAPED_TAG), ({ index }) => index);

/** The longest text whose repetition is seen: a paragraph of some 600 words. */
export const MAX_PERIOD = 4096;
/** How much is looked at together: two such windows side by side overlap by twice the longest period. */
const WINDOW = 4 * MAX_PERIOD;
/** How far apart the windows begin. */
const STEP = WINDOW / 2;
/** Most texts are shorter than this: nothing is kept of them. */
const SKIPPED = 8 * 1024;

/** What a text that comes in pieces repeats at its end. */
export interface Repetition {
  /** The end of the text, a window at most. */
  tail: string;
  /** Characters until the next look. */
  left: number;
  /** Characters at the end that are one text again and again, and how long that is; 0 where they are not. */
  run: number;
  period: number;
  /** Whether it is long enough to be looked at. */
  isLong: boolean;
}

export const createRepetition = (): Repetition => ({
  tail: '',
  left: SKIPPED,
  run: 0,
  period: 0,
  isLong: false,
});

/** How much of `text` from `from` on may be read before the next look. Looks stand at fixed places, however it is cut. */
export const untilLook = ({ left }: Repetition, text: string, from: number): number =>
  Math.min(text.length, from + left);

/** Reads on, no further than `untilLook` says. Whether `run` was looked at anew. Linear in time, constant in memory. */
export function readRepetition(repetition: Repetition, piece: string): boolean {
  repetition.left -= piece.length;
  if (!repetition.isLong) {
    repetition.isLong = repetition.left <= 0;
    if (repetition.isLong) repetition.left = WINDOW;
    return false;
  }
  repetition.tail = extendText(repetition.tail, piece);
  if (repetition.left > 0) return false;
  layOut(repetition.tail);
  const window = repetition.tail;
  const period = periodOf(window);
  repetition.period = period <= MAX_PERIOD ? period : 0;
  repetition.run = period > MAX_PERIOD ? 0 : repetition.run === 0 ? WINDOW : repetition.run + STEP;
  repetition.tail = window.slice(-STEP);
  repetition.left = STEP;
  return true;
}

const BORDERS = new Int32Array(WINDOW);

/** The shortest length after which a text of at most a window repeats itself (Knuth, Morris, Pratt). */
function periodOf(text: string): number {
  let border = 0;
  BORDERS[0] = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (border > 0 && text.charCodeAt(border) !== code) border = BORDERS[border - 1] as number;
    if (text.charCodeAt(border) === code) border++;
    BORDERS[at] = border;
  }
  return text.length - border;
}

/** Where the repetition begins that a text ends with, and how long what it repeats is; undefined where it ends with none. */
export function repeatedEnd(text: string): { readonly from: number; readonly period: number } | undefined {
  if (text.length < WINDOW) return undefined;
  const period = periodOf(text.slice(-WINDOW));
  if (period > MAX_PERIOD) return undefined;
  let from = text.length - WINDOW;
  while (from > 0 && text.charCodeAt(from - 1) === text.charCodeAt(from - 1 + period)) from--;
  return { from, period };
}
