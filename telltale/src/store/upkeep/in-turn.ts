/** Does work on all items, `most` at a time; each is begun in its turn, and the first failure ends it. */
export async function inTurn<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < items.length && !hasFailed) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (thrown) {
        hasFailed = true;
        throw thrown;
      }
    }
  };
  const workers = Array.from({ length: Math.min(most, items.length) }, worker);
  // What is under way comes to its end before anybody is told of the failure.
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
