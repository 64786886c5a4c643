import type { Tokenizer } from '../lib/tokens.ts';
import { BUILTIN_FEED } from '../log/fold-values.ts';
import { RESULTS_AT_ONCE } from './limits.ts';

/** The parts of a block that the runtime makes itself and that a manifest may leave out or cut. */
export type BuiltinPart = 'metadata' | 'results' | 'news' | 'memory';

export const RESULTS_PART = `${BUILTIN_FEED}results`;

/** How many tokens parts of a block may take, and how they are counted. */
export interface PartLimits {
  readonly tokenizer: Tokenizer;
  readonly maxTokens: Readonly<Partial<Record<BuiltinPart, number>>>;
}

export interface Fitting {
  /** Characters of one result that are shown; of more, the head and the tail. */
  readonly maxResult: number;
  /** Where the manifest cuts parts of the block. */
  readonly parts?: PartLimits | undefined;
  /** Characters of all results of one block, where the model's window has room for fewer than usual. */
  readonly resultChars?: number | undefined;
}

/** Of a small window, the results of one turn may have so many characters for each token. */
const RESULT_CHARS_A_TOKEN = 1.1;

/** What the results of one block may have where the model can read so many tokens. */
export const resultCharsIn = (contextWindow: number): number =>
  Math.floor(contextWindow * RESULT_CHARS_A_TOKEN);

/** About what a token is in plain text: where to begin. */
const CHARACTERS_A_TOKEN = 4;
const MAX_TRIES = 6;
/** Of what is too much by a little, a little more goes. */
const SLACK = 0.9;

/** What `make` makes of as many characters as the results may take, tried with fewer until their tokens fit. */
export function fitted<T>(
  { parts, maxResult, resultChars = Number.POSITIVE_INFINITY }: Fitting,
  make: (chars: number) => T,
  textOf: (made: T) => string,
): T {
  const max = parts?.maxTokens.results;
  const room = Math.min(maxResult * RESULTS_AT_ONCE, resultChars);
  if (parts === undefined || max === undefined) return make(room);
  let chars = Math.min(room, max * CHARACTERS_A_TOKEN);
  for (let left = MAX_TRIES; ; left--) {
    const made = make(chars);
    const tokens = parts.tokenizer.count(textOf(made));
    if (tokens <= max || left === 0) return made;
    chars = Math.floor((chars * max * SLACK) / tokens);
  }
}

/** The text, cut at a line where the manifest gives the part less room, with a line that says what is missing. */
export function cutPart(part: BuiltinPart, text: string, { parts }: Pick<Fitting, 'parts'>): string {
  const max = parts?.maxTokens[part];
  if (parts === undefined || max === undefined || text === '') return text;
  const { tokenizer } = parts;
  if (tokenizer.count(text) <= max) return text;
  const lines = text.split('\n');
  const kept: string[] = [];
  let tokens = 0;
  for (const line of lines) {
    tokens += tokenizer.count(`${line}\n`);
    if (tokens > max) break;
    kept.push(line);
  }
  return [...kept, `[… ${lines.length - kept.length} lines left out …]`].join('\n');
}
