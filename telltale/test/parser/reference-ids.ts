/**
 * The reference reading of protocol.md, part four: ids (section 4). Two takings of one id are allowed only if
 * they stand in different branches of the same `<if>`.
 */

/** The branches a tag stands in, outermost first. */
export type Path = readonly { readonly of: object; readonly branch: 'then' | 'else' }[];
export interface Taking {
  readonly id: string;
  readonly path: Path;
}

export interface IdLedger {
  isFree(id: string, path: Path): boolean;
  /** The first of `a1`, `a2`, … that nobody has taken, in any branch. */
  automatic(): string;
  take(id: string, path: Path): Taking;
  release(takings: readonly Taking[]): void;
}

export function createIdLedger(given: Iterable<string>): IdLedger {
  const takings = new Set<Taking>([...given].map((id) => ({ id, path: [] })));
  const exclusive = (one: Path, other: Path) =>
    one.some((a) => other.some((b) => a.of === b.of && a.branch !== b.branch));
  return {
    isFree: (id, path) => [...takings].every((taken) => taken.id !== id || exclusive(taken.path, path)),
    automatic: () => {
      const taken = new Set([...takings].map(({ id }) => id));
      let number = 1;
      while (taken.has(`a${number}`)) number += 1;
      return `a${number}`;
    },
    take: (id, path) => {
      const taking = { id, path };
      takings.add(taking);
      return taking;
    },
    release: (released) => {
      for (const taking of released) takings.delete(taking);
    },
  };
}
