import type { Clock } from '../../kernel/clock.ts';
import { createSseReader } from '../../kernel/sse-reader.ts';

/** A response whose body is read as it comes. */
export interface StreamedAnswer {
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}

/** How far a stream has come: kept from one connection to the next. */
export interface StreamPlace {
  /** From where it can be resumed; undefined where it cannot. */
  lastId: string | undefined;
  /** How long the server wants us to wait before that. */
  retryMs: number | undefined;
  events: number;
}

export const newPlace = (): StreamPlace => ({ lastId: undefined, retryMs: undefined, events: 0 });

export interface StreamDeps {
  readonly clock: Clock;
  readonly maxMessageBytes: number;
  /** Takes the data of an event; true if it is what the stream was opened for. Throws to give the stream up. */
  readonly take: (data: string) => boolean;
  readonly tooLarge: () => Error;
}

/** What a server has, once it has answered, to end its stream: a connection that was ended well can be used again. */
const LINGER_MS = 1_000;

/**
 * Reads events until the stream ends or breaks; resolves with whether what it was opened for has come. Rejects only
 * where it has to be given up.
 */
export async function readStream(
  answer: StreamedAnswer,
  place: StreamPlace,
  { clock, maxMessageBytes, take, tooLarge }: StreamDeps,
): Promise<boolean> {
  let isDone = false;
  let stopLingering = () => {};
  let failure: unknown;
  const reader = createSseReader(maxMessageBytes, {
    event({ id, event, data }) {
      place.lastId = id;
      place.events++;
      if (event !== 'message' || data === '' || failure !== undefined) return;
      try {
        if (!take(data) || isDone) return;
        isDone = true;
        stopLingering = clock.after(LINGER_MS, answer.discard);
      } catch (thrown) {
        failure = thrown;
      }
    },
    retry: (ms) => {
      place.retryMs = ms;
    },
  });
  try {
    for await (const chunk of answer.body) {
      if (!reader.push(chunk)) failure ??= tooLarge();
      if (failure !== undefined) break;
    }
  } catch {
    // It broke: the same to us as if it had ended, since both can be resumed.
  } finally {
    stopLingering();
    answer.discard();
  }
  if (failure !== undefined && !isDone) throw failure;
  return isDone;
}
