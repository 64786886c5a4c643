import { createOpenStreams, type OpenStream, type OpenStreams } from '../open-streams.ts';
import type { Counter, Histogram, Series } from './registry.ts';

export interface MeteredStream extends OpenStream {
  readonly startedAt: number | undefined;
  /** Those that nobody has answered. */
  readonly reviews: Set<string>;
}

/** Sessions or runs that have not ended. How many reviews are open in them is `open`, whatever becomes of them. */
export interface MeteredStreams<Entry extends MeteredStream> extends Omit<OpenStreams<Entry>, 'close'> {
  asked(entry: Entry, review: string): void;
  answered(entry: Entry, review: string): void;
  readonly reviews: MeteredReviews;
  /** Closes it. `of` is its agent or workflow. */
  end(
    stream: string,
    entry: Entry,
    ended: { readonly of: string; readonly at: number; readonly status: string },
  ): void;
}

/** Questions that were asked here and that nobody has answered as far as this process has heard. */
export interface MeteredReviews {
  asked(): readonly string[];
  /** Of some it turned out that others have answered them. */
  answeredElsewhere(reviews: readonly string[]): void;
}

/** What is counted of streams of one kind. */
export interface StreamInstruments {
  readonly open: Series;
  readonly ended: Counter;
  readonly duration: Histogram;
}

/** Streams with what is open in them, of which something is kept. */
const MAX_OPEN = 100_000;

export function createMeteredStreams<Entry extends MeteredStream>({
  open,
  ended,
  duration,
}: StreamInstruments): MeteredStreams<Entry> {
  const askers = new Map<string, Entry>();
  const leave = ({ reviews }: Entry) => {
    open.value -= reviews.size;
    for (const review of reviews) askers.delete(review);
  };
  const answered = ({ reviews }: Entry, review: string) => {
    if (!reviews.delete(review)) return;
    askers.delete(review);
    open.value--;
  };
  const streams = createOpenStreams<Entry>(MAX_OPEN, leave);
  return {
    ...streams,
    end(stream, entry, { of, at, status }) {
      ended.of(of, status).value++;
      if (entry.startedAt !== undefined) duration.record(seconds(at - entry.startedAt), of, status);
      leave(entry);
      streams.close(stream);
    },
    asked(entry, review) {
      if (entry.reviews.has(review)) return;
      entry.reviews.add(review);
      askers.set(review, entry);
      open.value++;
    },
    answered,
    reviews: {
      asked: () => [...askers.keys()],
      answeredElsewhere(those) {
        for (const review of those) {
          const entry = askers.get(review);
          if (entry !== undefined) answered(entry, review);
        }
      },
    },
  };
}

/** How it ended, from the type of the event that says so: `completed` of `session.completed`. */
export const endOf = <End extends string>(type: `${string}.${End}`): End =>
  type.slice(type.lastIndexOf('.') + 1) as End;

export const seconds = (ms: number): number => Math.max(0, ms) / 1_000;
