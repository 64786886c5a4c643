import type { StreamKind } from './engine.ts';

/** A reserved place of a worker. */
export interface CapacityReservation {
  /** Assigns the place to a stream. Further reservations for the same stream share it. */
  give(kind: StreamKind, stream: string): void;
  /** Releases the place. Repeated calls do nothing. */
  release(): void;
}

/**
 * Counts the sessions and runs that a process works on, each from its acceptance until its release.
 * Sub-agents and called workflows take no place of their own, because a caller with the last place would wait
 * for them forever.
 */
export class WorkerCapacity {
  readonly capacity: number;
  /** How many holders each place has. A session that is taken from the queue and resumed has one place. */
  readonly #holders = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** The number of streams of this process that wait for a place. They go before new ones. */
  #inLine: () => number = () => 0;
  #made = 0;

  constructor(capacity: number = Number.POSITIVE_INFINITY) {
    this.capacity = capacity;
  }

  get taken(): number {
    return this.#holders.size;
  }

  /** How many places are free for new work. */
  get free(): number {
    return Math.max(0, this.capacity - this.taken - this.#inLine());
  }

  /** Reserves a place for something new, if there is one, or shares the place of the stream. */
  reserve(kind?: StreamKind, stream?: string): CapacityReservation | undefined {
    const key = kind === undefined ? `reserved ${++this.#made}` : keyOf(kind, stream);
    return this.#holders.has(key) || this.free > 0 ? this.#place(key) : undefined;
  }

  /** Takes a place for a stream that has waited for it, if there is one, or shares its place. */
  take(kind: StreamKind, stream: string): CapacityReservation | undefined {
    const key = keyOf(kind, stream);
    return this.#holders.has(key) || this.taken < this.capacity ? this.#place(key) : undefined;
  }

  /** Takes a place even if none is left, for work that is done in any case. */
  hold(kind: StreamKind, stream: string): CapacityReservation {
    return this.#place(keyOf(kind, stream));
  }

  #place(key: string): CapacityReservation {
    let held: string | undefined = key;
    this.#add(key);
    return {
      give: (kind, stream) => {
        const other = keyOf(kind, stream);
        if (held === undefined || held === other) return;
        this.#add(other);
        this.#remove(held);
        held = other;
      },
      release: () => {
        if (held === undefined) return;
        this.#remove(held);
        held = undefined;
        for (const listener of [...this.#listeners]) listener();
      },
    };
  }

  /** Registers the function that counts waiting streams. */
  countInLine(inLine: () => number): void {
    this.#inLine = inLine;
  }

  /** Calls back when a place may have become free, in the order of registration. */
  onFree(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #add(key: string): void {
    this.#holders.set(key, (this.#holders.get(key) ?? 0) + 1);
  }

  #remove(key: string): void {
    const left = (this.#holders.get(key) ?? 0) - 1;
    if (left > 0) this.#holders.set(key, left);
    else this.#holders.delete(key);
  }
}

const keyOf = (kind: StreamKind, stream = ''): string => `${kind} ${stream}`;
