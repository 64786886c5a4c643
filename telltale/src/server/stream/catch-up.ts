import { decodeLine } from '../../session/log/stream-event.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { Broadcast } from './broadcast.ts';
import type { ReadPage } from './log-pages.ts';
import { isOverAfter, isOverWith, mayEnd } from './stream-end.ts';
import { logTooShort } from './stream-errors.ts';

/** How far a channel is. */
export interface Place {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  /** The last event that followers were told of. */
  head: number;
  /** The last event that is known to be on the log. */
  known: number;
  /** Whether nothing comes behind `head`. */
  isOver: boolean;
  /** While the log is read, what is told meanwhile is found there. */
  isReading: boolean;
}

export interface CatchUpDeps {
  readonly store: Store;
  readonly page: ReadPage;
  readonly broadcast: Broadcast;
  readonly frameOf: (seq: number, line: string) => string;
  /** The log could not be read. */
  readonly onFailure: (thrown: unknown) => void;
  /** All that is on the log was told. */
  readonly onDone: () => void;
}

/** Brings a channel to the end of its log: what nobody told it of is read from there, once and in order. */
export interface CatchUp {
  /** For the first time, before anybody follows. */
  begin(): Promise<StreamInfo | undefined>;
  /** The log may have more than was told. */
  moved(): void;
  close(): void;
}

export function createCatchUp(place: Place, deps: CatchUpDeps): CatchUp {
  const { store, page, broadcast, frameOf, onFailure, onDone } = deps;
  const { kind, stream } = place;
  let mayHaveMoved = false;
  let isClosed = false;

  /** Where nobody follows, how far the log goes is all that is asked; whoever joined meanwhile did so at the head before. */
  const look = async () => {
    const least = place.known;
    const info = await store.info(stream);
    if (info === undefined || broadcast.size > 0) return info;
    if (info.head < least) throw logTooShort(stream, least, info.head);
    place.head = info.head;
    place.isOver = isOverWith(info.status);
    place.known = Math.max(place.known, info.head);
    return info;
  };

  const take = (line: string) => {
    place.head++;
    if (mayEnd(kind, line)) place.isOver = isOverAfter(kind, decodeLine(line, place).type, place.isOver);
    broadcast.push(frameOf(place.head, line), place.head);
  };

  const readOn = async () => {
    for (;;) {
      const least = place.known;
      const lines = await page(place.head + 1);
      if (isClosed) return;
      for (const line of lines) take(line);
      broadcast.flush();
      place.known = Math.max(place.known, place.head);
      if (lines.length > 0) continue;
      if (least > place.head) throw logTooShort(stream, least, place.head);
      return;
    }
  };

  const run = async () => {
    place.isReading = true;
    try {
      do {
        mayHaveMoved = false;
        if (broadcast.size === 0) await look();
        if (broadcast.size > 0) await readOn();
      } while (!isClosed && mayHaveMoved);
    } catch (thrown) {
      if (!isClosed) onFailure(thrown);
    }
    place.isReading = false;
    if (!isClosed) onDone();
  };

  const moved = () => {
    mayHaveMoved = true;
    if (!place.isReading && !isClosed) void run(); // tells its own failures
  };

  return {
    async begin() {
      const info = await look();
      place.isReading = false;
      if (mayHaveMoved) moved();
      return info;
    },
    moved,
    close() {
      isClosed = true;
    },
  };
}
