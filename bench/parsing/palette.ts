import { ENDS, PLAIN_QUOTED, QUOTED } from './prose.ts';
import type { Seeded } from './seeded.ts';
import { generalSnippets, lightSnippets, plainSnippets, taggedSnippets } from './snippets.ts';

/** What a transcript is written with: how much of its prose and code holds `<`. */
export interface Palette {
  /** What sentences end in, and what they quote. */
  readonly ends: readonly string[];
  readonly quoted: readonly string[];
  /** Names of files, for metadata, and one for a table. */
  readonly files: readonly string[];
  readonly file: string;
  /** From `low` to about `high` pieces of code, for a body. */
  code(seeded: Seeded, low: number, high: number): string;
  /** One piece of code, for a fence. */
  fenced(seeded: Seeded): string;
}

/** The share of code-carrying bodies whose code holds something that an HTML parser takes for a tag. */
const LIGHTLY_TAGGED = 0.6;

const MARKUP = 0.08;
/** In pieces: the plain ones are longer than those full of tags, and the transcript is to stay as long. */
const LONGEST = 6;
const plain = [...plainSnippets, ...generalSnippets];

/**
 * As in the code that was counted for it: most of a file is plain, and in a third of the pieces of its length stand one
 * to three `<` that look like a tag. One such piece in twelve is markup.
 */
export const palette: Palette = {
  ends: ENDS.filter((end) => !end.includes('<')),
  quoted: [...QUOTED, ...PLAIN_QUOTED],
  files: ['src/orders.ts', 'a & b'],
  file: 'b.rs',
  code(seeded, low, high) {
    const count = seeded.between(low, Math.min(high, LONGEST));
    const pieces = Array.from({ length: count }, () => seeded.pick(plain)(seeded));
    if (seeded.chance(LIGHTLY_TAGGED))
      pieces[seeded.between(0, pieces.length - 1)] = seeded.pick(
        seeded.chance(MARKUP) ? taggedSnippets : lightSnippets,
      )(seeded);
    return pieces.join('\n');
  },
  fenced: (seeded) => seeded.pick(seeded.chance(0.3) ? lightSnippets : plain)(seeded),
};
