/** The first few of what may be many, for a message. */
export interface NamedFew {
  add(name: string): void;
  readonly names: readonly string[];
  readonly more: number;
  readonly count: number;
}

const MOST = 10;

export function createNamedFew(): NamedFew {
  const names: string[] = [];
  let count = 0;
  return {
    names,
    add(name) {
      if (count++ < MOST) names.push(name);
    },
    get more() {
      return count - names.length;
    },
    get count() {
      return count;
    },
  };
}
