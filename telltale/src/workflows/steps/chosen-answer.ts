/**
 * Which of the answers a model has given: the one it said, case, quotes and marks around it aside; else the only one
 * that stands in its words as whole words. Where one stands inside another (`ready` in `not ready`) the longer counts.
 */
export function chosenAnswer(said: string, answers: readonly string[]): string | undefined {
  const exact = answers.find((answer) => answer === said);
  if (exact !== undefined) return exact;
  const bare = strip(said);
  const alone = answers.find((answer) => strip(answer) === bare);
  if (alone !== undefined) return alone;
  const longestFirst = answers.toSorted((a, b) => b.length - a.length);
  const found = new Set<string>();
  let left = said.toLowerCase();
  for (const answer of longestFirst) {
    const without = left.replaceAll(wholeWords(answer), ' ');
    if (without !== left) found.add(answer);
    left = without;
  }
  const [only] = found;
  return found.size === 1 ? only : undefined;
}

const strip = (text: string): string =>
  text
    .trim()
    .replace(/^["'`*_]+|["'`*_.!]+$/g, '')
    .trim()
    .toLowerCase();

const wholeWords = (answer: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}_])${answer.toLowerCase().replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?![\\p{L}\\p{N}_])`,
    'gu',
  );
