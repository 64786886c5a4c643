import { decodeEvent } from '../../events/codec.ts';
import { decodeRunEvent } from '../../events/run-codec.ts';
import type { Store } from '../../store/store.ts';
import { isOfRun, placeOf, type StreamPlace, streamOf, type WatchedEvent } from './stream-place.ts';

/** Streams whose agent is remembered; the others are looked up. */
const MAX_STREAMS = 10_000;

/** Knows whose a stream is. */
export interface StreamPlaces {
  /** Takes what a stream's first event says. */
  note(event: WatchedEvent): void;
  of(event: WatchedEvent): Promise<StreamPlace | undefined>;
}

export function createStreamPlaces(store: Pick<Store, 'read'>): StreamPlaces {
  const places = new Map<string, StreamPlace>();
  const keep = (stream: string, place: StreamPlace | undefined) => {
    if (place === undefined) return undefined;
    places.delete(stream);
    places.set(stream, place);
    const [oldest] = places.keys();
    if (places.size > MAX_STREAMS && oldest !== undefined) places.delete(oldest);
    return place;
  };
  return {
    note: (event) => void keep(streamOf(event), placeOf(event)),
    async of(event) {
      const stream = streamOf(event);
      const known = places.get(stream);
      if (known !== undefined) return known;
      const [line] = await store.read(stream, { from: 1, limit: 1 });
      if (line === undefined) return undefined;
      return keep(stream, placeOf(isOfRun(event) ? decodeRunEvent(line, stream) : decodeEvent(line, stream)));
    },
  };
}
