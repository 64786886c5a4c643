import type { StreamKind } from './engine.ts';

/** A place that is taken. */
export interface CapacityReservation {
  /** From here on it is the place of that stream: who takes one for the same stream shares it. */
  give(kind: StreamKind, stream: string): void;
  /** Gives it back; called again it does nothing. */
  release(): void;
}

/**
 * Counts the sessions and runs that a process works on, each from the moment it is accepted until it is let go of. What
 * accepted work calls (sub-agents, called workflows) takes no place of its own: a caller that held the last place would
 * wait for it forever.
 */
export class WorkerCapacity {
  readonly capacity: number;
  /** By key, how many hold the place: a session that is being taken from the queue and resumed is one. */
  readonly #holders = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** Streams of this process that wait for a place and come before what is new. */
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

  /** A place for something new, if there is one, or of a stream that has one already. */
  reserve(kind?: StreamKind, stream?: string): CapacityReservation | undefined {
    const key = kind === undefined ? `reserved ${++this.#made}` : keyOf(kind, stream);
    return this.#holders.has(key) || this.free > 0 ? this.#place(key) : undefined;
  }

  /** The place of a stream that has waited in line for it, if there is one or it has one already. */
  take(kind: StreamKind, stream: string): CapacityReservation | undefined {
    const key = keyOf(kind, stream);
    return this.#holders.has(key) || this.taken < this.capacity ? this.#place(key) : undefined;
  }

  /** Also where there is none left: of what is worked on in any case. */
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

  /** Says how many streams of this process wait for a place. */
  countInLine(inLine: () => number): void {
    this.#inLine = inLine;
  }

  /** Calls back when a place may have become free; those that came first are told first. */
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
