import { createOpenStreams, type OpenStream, type OpenStreams } from '../open-streams.ts';
import type { Series } from './registry.ts';

export interface MeteredStream extends OpenStream {
  /** Those that nobody has answered. */
  readonly reviews: Set<string>;
}

/** Sessions or runs that have not ended. How many reviews are open in them is `open`, whatever becomes of them. */
export interface MeteredStreams<Entry extends MeteredStream> extends OpenStreams<Entry> {
  asked(entry: Entry, review: string): void;
  answered(entry: Entry, review: string): void;
}

/** Streams with what is open in them, of which something is kept. */
const MAX_OPEN = 100_000;

export function createMeteredStreams<Entry extends MeteredStream>(open: Series): MeteredStreams<Entry> {
  const leave = ({ reviews }: Entry) => {
    open.value -= reviews.size;
  };
  const streams = createOpenStreams<Entry>(MAX_OPEN, leave);
  return {
    ...streams,
    close(stream) {
      const entry = streams.get(stream);
      if (entry !== undefined) leave(entry);
      streams.close(stream);
    },
    asked({ reviews }, review) {
      if (reviews.has(review)) return;
      reviews.add(review);
      open.value++;
    },
    answered({ reviews }, review) {
      if (reviews.delete(review)) open.value--;
    },
  };
}

/** How it ended, from the type of the event that says so: `completed` of `session.completed`. */
export const endOf = <End extends string>(type: `${string}.${End}`): End =>
  type.slice(type.lastIndexOf('.') + 1) as End;
