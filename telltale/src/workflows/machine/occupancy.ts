/** What a run waits for when nothing else is to be done. */
export interface Waits {
  readonly for: string;
  /** When something is to be done at the latest; absent where only a message helps. */
  readonly due?: number;
}

/**
 * Counts what is at work: each line of steps that goes on by itself holds one place. Once all have parked, `onQuiet` is
 * called.
 */
export interface Occupancy {
  /** Takes so many places more, or gives them back. */
  add(places: number): void;
  /** Gives a place back for as long as there is nothing to do. The returned function takes it again, once. */
  park(waits: Waits): () => void;
}

const MAX_NAMED = 3;

export function createOccupancy(onQuiet: (waits: Waits) => void): Occupancy {
  let busy = 1;
  const parked = new Set<Waits>();
  const check = () => {
    if (busy !== 0 || parked.size === 0) return;
    // Whoever was parked and has its answer goes on in the microtasks that are queued already.
    queueMicrotask(() => {
      if (busy === 0 && parked.size > 0) onQuiet(together([...parked]));
    });
  };
  return {
    add(places) {
      busy += places;
      check();
    },
    park(waits) {
      parked.add(waits);
      busy--;
      check();
      return () => {
        if (parked.delete(waits)) busy++;
      };
    },
  };
}

function together(parked: readonly Waits[]): Waits {
  const names = [...new Set(parked.map((each) => each.for))];
  const dues = parked.flatMap(({ due }) => (due === undefined ? [] : [due]));
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return {
    for: names.slice(0, MAX_NAMED).join(', ') + more,
    ...(dues.length === 0 ? {} : { due: Math.min(...dues) }),
  };
}
