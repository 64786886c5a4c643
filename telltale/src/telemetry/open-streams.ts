/** What is kept of a session or run until it ends. */
export interface OpenStream {
  /** How much is open in it: itself, turns, actions, steps. */
  size: number;
}

export interface OpenStreams<Entry extends OpenStream> {
  get(stream: string): Entry | undefined;
  open(stream: string, entry: Entry): Entry;
  /** More or less of it is open than before. */
  grow(entry: Entry, by: number): void;
  close(stream: string): void;
}

/**
 * Sessions and runs that have not ended. Where more than `max` is open in them in all, those that were opened first are
 * forgotten: some wait for a person for months, and some are never gone on with.
 */
export function createOpenStreams<Entry extends OpenStream>(
  max: number,
  onForgotten: (entry: Entry) => void = () => undefined,
): OpenStreams<Entry> {
  const entries = new Map<string, Entry>();
  let total = 0;
  const forget = (spared: Entry) => {
    for (const [stream, entry] of entries) {
      if (total <= max) return;
      if (entry === spared) continue;
      entries.delete(stream);
      total -= entry.size;
      onForgotten(entry);
    }
  };
  return {
    get: (stream) => entries.get(stream),
    open(stream, entry) {
      const before = entries.get(stream);
      if (before !== undefined) total -= before.size;
      entries.set(stream, entry);
      total += entry.size;
      if (total > max) forget(entry);
      return entry;
    },
    grow(entry, by) {
      entry.size += by;
      total += by;
      if (total > max) forget(entry);
    },
    close(stream) {
      const entry = entries.get(stream);
      if (entry === undefined) return;
      entries.delete(stream);
      total -= entry.size;
    },
  };
}
