/** What is known of the offers that wait. */
export interface WaitingRounds {
  /** The round that is taken from now: that of the first of all that wait; 0 where none does. */
  readonly current: number;
  /** By group, the round of its last that waits. */
  readonly last: ReadonlyMap<string, number>;
}

/**
 * The rounds in which offers are taken, one of each group a round, so that a group of a thousand keeps one of three
 * waiting for three rounds and not for a thousand offers. One that comes later joins the round that is being taken.
 */
export function offerRounds(groups: readonly string[], { current, last }: WaitingRounds): readonly number[] {
  const next = new Map(last);
  return groups.map((group) => {
    const round = Math.max(current, (next.get(group) ?? Number.NEGATIVE_INFINITY) + 1);
    next.set(group, round);
    return round;
  });
}
