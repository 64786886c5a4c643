/** As long as a name can be, and as many folders as a walk goes down. */
const NAME_LENGTH = 255;
const DEPTH = 32;
/** Patterns that one with choices may stand for, those on the way to them among them. */
const MAX_SPELLINGS = 500;
/** Where a choice began and ended: a star before it and one in it are two. */
const SEAM = '\0';

/**
 * In how many ways, at the worst, a glob may be tried on one path before it is certain that it does not match: globs
 * become regular expressions that backtrack, and `*a*a*a*c` on a name of 255 letters takes half a second, one star more
 * a minute, in which nothing else happens. 200,000 ways are about a tenth of a second.
 */
export function globCost(pattern: string): number {
  const waiting = [pattern.replaceAll(REPEATED_CHARACTER, ']+')];
  let ways = 0;
  let spellings = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (REPEATED_GROUP.test(next)) return Number.POSITIVE_INFINITY;
    const choice = CHOICE_WITH_STARS.exec(next);
    if (choice === null) ways += waysOf(next);
    else {
      // One after the other is tried, so that they add up.
      const [before, behind] = [next.slice(0, choice.index), next.slice(choice.index + choice[0].length)];
      const all = (choice[1] ?? '').split(/[,|]/);
      spellings += all.length;
      if (spellings > MAX_SPELLINGS) return Number.POSITIVE_INFINITY;
      for (const each of all) waiting.push(`${before}${SEAM}${each}${SEAM}${behind}`);
    }
  }
  return ways;
}

/** What may match any number of characters of a name: one of these alone is tried once at each place. */
const STARS = /\*+|\]\+|!\(/g;
/** Each of its choices may be tried. */
const GROUPS = /[{(]/g;
const CHOICE_WITH_STARS = /(?:\{|@\(|(?<![!?+*@])\()([^{}()]*\*[^{}()]*)[})]/;
const CHOICE_OF_WORDS = /^\{([\w., -]+)\}$/;
/** One character that may come again is a star. */
const REPEATED_CHARACTER = /[+*]\((?:\w|\[(?:\[:\w+:\]|[^[\]/])+\])\)/g;
/** A group that may come again, in which anything may be split in any way. */
const REPEATED_GROUP = /[+*]\(|[)}]\+/;

function waysOf(pattern: string): number {
  const names = pattern.split('/').map((name) => (name.replaceAll(SEAM, '') === '**' ? '**' : name));
  const folders = names.filter((name) => name === '**').length;
  let groups = count(pattern, GROUPS);
  let pieces = 0;
  let ways = choices(DEPTH, Math.max(0, folders - 1));
  for (const name of names) {
    if (name === '**') continue;
    for (const piece of name.split(STARS).slice(1, -1)) {
      const words = CHOICE_OF_WORDS.exec(piece)?.[1]?.split(',');
      if (words !== undefined) groups--;
      pieces++;
      ways *= (words ?? [piece]).reduce((sum, word) => sum + placesOf(word), 0) / pieces;
    }
  }
  return ways * 2 ** groups;
}

/** At how many places of a name what stands between two stars may be found: `aa` at each, `user` at every fourth. */
function placesOf(text: string): number {
  const piece = text.replaceAll(SEAM, '');
  if (!/^[\w., -]+$/.test(piece)) return NAME_LENGTH;
  if (piece.length > NAME_LENGTH) return 1;
  let period = 1;
  while (!piece.startsWith(piece.slice(period))) period++;
  return Math.max(1, NAME_LENGTH / period);
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** About how many ways there are to choose `some` of `all`. */
function choices(all: number, some: number): number {
  let ways = 1;
  for (let n = 1; n <= some; n++) ways *= all / n;
  return ways;
}
