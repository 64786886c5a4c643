/** Lets so much work go on side by side; the rest waits, in the order in which it came. */
export type Turnstile = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createTurnstile(places: number): Turnstile {
  const waiting: (() => void)[] = [];
  let free = places;
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
