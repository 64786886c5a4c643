/** Delays by tenths of a millisecond, up to ten seconds. */
export interface Delays {
  add(ms: number): void;
  readonly count: number;
  quantile(part: number): number;
}

const PLACES = 100_000;

export function createDelays(): Delays {
  const places = new Uint32Array(PLACES);
  let count = 0;
  return {
    add(ms) {
      count++;
      places[Math.min(PLACES - 1, Math.max(0, Math.round(ms * 10)))]!++;
    },
    get count() {
      return count;
    },
    quantile(part) {
      let seen = 0;
      for (let at = 0; at < PLACES; at++) {
        seen += places[at]!;
        if (seen >= count * part) return at / 10;
      }
      return Number.NaN;
    },
  };
}
