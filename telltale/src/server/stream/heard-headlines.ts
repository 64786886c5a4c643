import { type Headline, readHeadlines } from '../../session/distant/headline-publication.ts';
import { ASKS, askText, HEADLINES } from '../../session/distant/live-names.ts';
import type { LiveWire } from '../../store/shared-store.ts';

/** What other processes say has moved. */
export interface HeardHeadlines {
  /** Asks processes to tell; again now and then, since there may be some that were not there before. */
  ask(): void;
  close(): void;
}

export interface HeardHeadlinesDeps {
  readonly live: LiveWire;
  /** Reads the events of a headline, one stream at a time. */
  readonly read: (headline: Headline) => Promise<unknown>;
  /** Some of it was missed. */
  readonly missed: () => void;
  readonly onError: (thrown: unknown) => void;
}

/** Streams that were heard of and are not read yet; with more, all are looked at instead. */
const MAX_HEARD = 10_000;

export function hearHeadlines({ live, read, missed, onError }: HeardHeadlinesDeps): HeardHeadlines {
  /** By stream, in the order in which they were heard of. */
  const heard = new Map<string, Headline>();
  let isReading = false;
  let isClosed = false;

  const note = (headline: Headline) => {
    const before = heard.get(headline.stream);
    heard.set(headline.stream, before === undefined ? headline : { ...headline, from: before.from });
  };
  const readAll = async () => {
    isReading = true;
    for (const headline of heard.values()) {
      heard.delete(headline.stream);
      await read(headline).catch(onError); // the next look may do better
      if (isClosed) return;
    }
    isReading = false;
  };
  const unlisten = live.listen(HEADLINES, {
    heard(text) {
      for (const headline of readHeadlines(text)) note(headline);
      if (heard.size > MAX_HEARD) {
        heard.clear();
        missed();
      }
      if (!isReading) void readAll(); // tells its own failures
    },
    gap: missed,
  });
  const ask = () => live.send(ASKS, askText({ kind: 'headlines' }));
  ask();
  return {
    ask,
    close() {
      isClosed = true;
      unlisten();
      heard.clear();
    },
  };
}
