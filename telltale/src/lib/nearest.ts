const MAX_LENGTH = 64;

/**
 * The known name that `asked` was most likely meant to be, or undefined if none is near enough to be worth
 * suggesting: at most one slip in three characters (a swap of neighbors is one), case aside.
 */
export function nearest(asked: string, known: Iterable<string>): string | undefined {
  if (asked === '' || asked.length > MAX_LENGTH) return undefined;
  const wanted = asked.toLowerCase();
  let best: string | undefined;
  // Every letter is one slip away from every other: of a single one only the case may differ.
  let bestDistance = asked.length === 1 ? 1 : Math.max(1, Math.floor(asked.length / 3)) + 1;
  for (const name of known) {
    if (name.length > MAX_LENGTH) continue;
    const distance = slips(wanted, name.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** At least so much of a name is taken for its beginning. */
const MIN_BEGINNING = 4;

/** For hints: the nearest name or, where none is near, the only one that begins with what was asked for. */
export function likeliest(asked: string, known: readonly string[]): string | undefined {
  return nearest(asked, known) ?? onlyBeginning(asked, known);
}

function onlyBeginning(asked: string, known: readonly string[]): string | undefined {
  if (asked.length < MIN_BEGINNING) return undefined;
  const wanted = asked.toLowerCase();
  const [first, second] = known.filter((name) => name.toLowerCase().startsWith(wanted));
  return second === undefined ? first : undefined;
}

/** Restricted Damerau–Levenshtein distance; gives up with `limit` as soon as it is reached. */
function slips(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
      least = Math.min(least, cost);
    }
    if (least >= limit) return limit;
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;

/** "Did you mean "x"?" or, where nothing is near, the list of what is allowed. The ending of most hints. */
export function suggest(asked: string, known: readonly string[], what = 'Allowed'): string {
  const near = likeliest(asked, known);
  if (near !== undefined) return `Did you mean "${near}"?`;
  return known.length === 0 ? `${what}: none.` : `${what}: ${known.join(', ')}.`;
}
