export type Graph = ReadonlyMap<string, readonly string[]>;

/** More would tell a reader nothing new. */
const MAX_CYCLES = 8;

/**
 * Cycles of a directed graph, each as the names on it with the first repeated at the end: every cycle is broken by
 * an edge of some that are returned, up to a limit. No recursion: a chain may be as long as a document allows.
 */
export function findCycles(graph: Graph): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const trail: { readonly name: string; next: number }[] = [];
    const onTrail = new Map<string, number>();
    const enter = (name: string) => {
      onTrail.set(name, trail.length);
      trail.push({ name, next: 0 });
    };
    if (!done.has(start)) enter(start);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const follower = graph.get(top.name)?.[top.next++];
      if (follower === undefined) {
        trail.pop();
        onTrail.delete(top.name);
        done.add(top.name);
        continue;
      }
      const since = onTrail.get(follower);
      if (since !== undefined) {
        cycles.push([...trail.slice(since).map(({ name }) => name), follower]);
        if (cycles.length === MAX_CYCLES) return cycles;
      } else if (graph.has(follower) && !done.has(follower)) enter(follower);
    }
  }
  return cycles;
}

/** `a → b → a`. */
export const showCycle = (cycle: readonly string[]): string => cycle.join(' → ');
