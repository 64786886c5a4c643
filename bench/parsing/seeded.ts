/** Random choices that are the same on every machine and in every run with the same seed. */
export interface Seeded {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** True `share` of the time, from 0 to 1. */
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Mulberry32: 32 bits of state are plenty for a transcript, and nobody's release notes can change it. */
export function createSeeded(seed: number): Seeded {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: (share) => next() < share,
    pick: <T>(list: readonly T[]) => list[between(0, list.length - 1)] as T,
  };
}
