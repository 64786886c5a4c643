export interface RankLink {
  readonly from: string;
  readonly to: string;
}

export interface Ranking {
  readonly ranks: ReadonlyMap<string, number>;
  /** The links, by their place in the list, that lead back up: they are laid out the other way round. */
  readonly reversed: ReadonlySet<number>;
}

/** Ranks that a link spans at least: the one in between has room for what is written on it. */
const SPAN = 2;

/** Each box below all that lead to it, by the longest way; links that would close a circle are turned round. */
export function rankBoxes(ids: readonly string[], links: readonly RankLink[]): Ranking {
  const out = new Map<string, number[]>(ids.map((id) => [id, []]));
  links.forEach(({ from }, at) => void out.get(from)?.push(at));
  const reversed = new Set<number>();
  const state = new Map<string, 'open' | 'done'>();
  const order: string[] = [];
  for (const id of ids) {
    if (state.has(id)) continue;
    // By hand, since a chain may be longer than the stack is deep.
    const path = [{ id, next: 0 }];
    state.set(id, 'open');
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const at = out.get(top.id)?.[top.next++];
      const link = at === undefined ? undefined : links[at];
      if (at === undefined || link === undefined) {
        state.set(top.id, 'done');
        order.push(top.id);
        path.pop();
      } else if (state.get(link.to) === 'open') reversed.add(at);
      else if (!state.has(link.to)) {
        state.set(link.to, 'open');
        path.push({ id: link.to, next: 0 });
      }
    }
  }
  const ranks = new Map<string, number>(ids.map((id) => [id, 0]));
  const lower = (id: string, rank: number) => {
    if ((ranks.get(id) ?? 0) < rank) ranks.set(id, rank);
  };
  const incoming = new Map<string, string[]>(ids.map((id) => [id, []]));
  links.forEach(({ from, to }, at) => {
    if (reversed.has(at)) incoming.get(from)?.push(to);
    else incoming.get(to)?.push(from);
  });
  for (const id of order.toReversed())
    for (const before of incoming.get(id) ?? []) lower(id, (ranks.get(before) ?? 0) + SPAN);
  return { ranks, reversed };
}
