import type { Store, StreamWriter } from '../store/store.ts';

export interface SpiedStore extends Store {
  /** The seq at which each append of the stream ended: where a kill can leave its log. */
  readonly boundaries: number[];
  /** How many events were read, and from which seq on, call by call. */
  readonly reads: { readonly from: number; readonly count: number }[];
}

/** A store that keeps account of what is written to and read from it. */
export function spyOn(store: Store): SpiedStore {
  const boundaries: number[] = [];
  const reads: { from: number; count: number }[] = [];
  const spied = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append(append, settled) {
      boundaries.push(append.expectedSeq + append.events.length);
      writer.append(append, settled);
    },
  });
  return {
    ...store,
    boundaries,
    reads,
    create: async (stream, head) => spied(await store.create(stream, head)),
    begin(stream, head) {
      const { writer, made } = store.begin(stream, head);
      return { writer: spied(writer), made };
    },
    acquire: async (stream) => spied(await store.acquire(stream)),
    async read(stream, options = {}) {
      const lines = await store.read(stream, options);
      reads.push({ from: options.from ?? 1, count: lines.length });
      return lines;
    },
  };
}
