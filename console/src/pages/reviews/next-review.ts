export interface InboxOrder {
  readonly open: readonly string[];
  readonly answered: readonly string[];
}

/** The review that `j` and `k` go to. After an answer, `j` goes to the open review at the same position (`place`). */
export function nextReview(
  key: 'j' | 'k',
  chosen: string | undefined,
  { open, answered }: InboxOrder,
  place: number | undefined,
): string | undefined {
  if (chosen === answered[0] && place !== undefined && open.length > 0)
    return key === 'j' ? (open[place] ?? open.at(-1)) : (open[place - 1] ?? open[0]);
  const all = [...open, ...answered];
  const at = chosen === undefined ? -1 : all.indexOf(chosen);
  return all[key === 'j' ? at + 1 : at - 1];
}
