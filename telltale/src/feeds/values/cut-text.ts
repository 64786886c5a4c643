import { setImmediate as turn } from 'node:timers/promises';
import type { Tokenizer } from '../../lib/tokens.ts';

export interface CutText {
  readonly text: string;
  readonly tokens: number;
  /** Tokens that are missing; absent where none is. */
  readonly truncated?: number;
}

/** A text of so many characters is counted at once, which is exact and takes 25 ms at the most, but for junk. */
const WHOLE = 65_536;
/** A longer one in parts of this size, each ending with a line where it has one: a thousandth too high at most. */
const PART = 2_048;
/** Parts that are counted before everything else gets its turn: 12 ms. */
const PARTS_A_TURN = 16;
/** A cut at a line may cost this much of what would fit; a line that is longer is cut inside. */
const KEPT_BY_LINE = 0.5;

/**
 * A text of `maxTokens` at the most, cut behind a line. What is missing is exact up to 64 Ki characters, and about right
 * for more: only what is kept is counted whole. At the default limit a megabyte of prose takes 20 ms of CPU time, of one
 * letter or of newlines 6, of random ideographs, the worst that was found, 60.
 */
export async function cutText(text: string, maxTokens: number, tokenizer: Tokenizer): Promise<CutText> {
  const whole = text.length <= WHOLE ? tokenizer.count(text) : undefined;
  if (whole !== undefined && whole <= maxTokens) return { text, tokens: whole };
  const fitting = await fittingPrefix(text, maxTokens, tokenizer);
  if (fitting.length === text.length) return { text, tokens: fitting.tokens };
  const kept = cutAtLine(text, fitting, maxTokens, tokenizer);
  const total = whole ?? kept.tokens + tokenizer.count(text.slice(kept.text.length));
  return { ...kept, truncated: Math.max(1, total - kept.tokens) };
}

/** How many characters fit, and what they come to. */
interface CutTextFitting {
  readonly length: number;
  readonly tokens: number;
}

async function fittingPrefix(text: string, maxTokens: number, tokenizer: Tokenizer): Promise<CutTextFitting> {
  let tokens = 0;
  let parts = 0;
  for (let from = 0; from < text.length; ) {
    const part = nextPart(text, from);
    const count = tokenizer.count(part);
    if (tokens + count > maxTokens) {
      const last = part.slice(0, longestFitting(part, maxTokens - tokens, tokenizer));
      return { length: from + last.length, tokens: tokens + tokenizer.count(last) };
    }
    tokens += count;
    from += part.length;
    if (++parts % PARTS_A_TURN === 0) await turn();
  }
  return { length: text.length, tokens };
}

/** Ends behind a line, else before a space (a word's token begins with it), else where it must. */
function nextPart(text: string, from: number): string {
  const part = text.slice(from, from + PART);
  if (from + PART >= text.length) return part;
  const line = part.lastIndexOf('\n') + 1;
  if (line > 0) return part.slice(0, line);
  const space = part.lastIndexOf(' ');
  return part.slice(0, space > 0 ? space : wholeCharacters(part, PART));
}

/** By halving: the count of a beginning grows with it, or as good as. */
function longestFitting(part: string, maxTokens: number, tokenizer: Tokenizer): number {
  let fits = 0;
  let over = part.length;
  while (over - fits > 1) {
    const middle = (fits + over) >>> 1;
    if (tokenizer.count(part.slice(0, wholeCharacters(part, middle))) <= maxTokens) fits = middle;
    else over = middle;
  }
  return wholeCharacters(part, fits);
}

function cutAtLine(
  text: string,
  { length, tokens }: CutTextFitting,
  maxTokens: number,
  tokenizer: Tokenizer,
): CutText {
  const fitting = text.slice(0, length);
  const isWholeLine = text[length] === '\n';
  const lines = isWholeLine ? fitting : fitting.slice(0, Math.max(0, fitting.lastIndexOf('\n')));
  // What is too long to be counted at once is known by its parts, a token or two too high.
  const count = (kept: string) =>
    length <= WHOLE ? tokenizer.count(kept) : tokens - tokenizer.count(fitting.slice(kept.length));
  const byLine = count(lines);
  if (byLine >= KEPT_BY_LINE * maxTokens && byLine <= maxTokens) return { text: lines, tokens: byLine };
  let kept = fitting;
  let own = count(kept);
  // Parts can come to less than the whole, by a token where they meet.
  while (own > maxTokens && kept !== '') {
    kept = kept.slice(0, wholeCharacters(kept, kept.length - Math.ceil(kept.length / 64)));
    own = count(kept);
  }
  return { text: kept, tokens: own };
}

/** Not between the two halves of one character. */
function wholeCharacters(text: string, length: number): number {
  const code = text.charCodeAt(length - 1);
  return length > 0 && length < text.length && code >= 0xd800 && code <= 0xdbff ? length - 1 : length;
}
