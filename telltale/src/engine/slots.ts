/** Counted permits: a tool's `max_parallel`. Over all machines of a fleet; else of this process. */
export interface Slots {
  /**
   * Waits until one of the `max` slots of a key is free, in the order of asking as far as this process goes, and takes it.
   * The returned function gives it back. Rejects with the signal's reason where that is aborted first.
   */
  take(key: string, max: number, signal: AbortSignal): Promise<() => void>;
}
