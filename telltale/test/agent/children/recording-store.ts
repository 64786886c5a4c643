import { createSystemClock } from '../../../src/lib/clock.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store, StreamWriter } from '../../../src/store/store.ts';

interface Written {
  readonly stream: string;
  readonly type: string;
  /** Of a copy: which event of the sub-agent it is of. */
  readonly child?: { readonly session: string; readonly seq: number };
}

export interface RecordingStore extends Store {
  /** Every event in the order in which it was given to the store, over all streams. */
  readonly written: readonly Written[];
  /** Copies that were written before the commit of what they are copies of. */
  readonly early: readonly Written[];
}

/** A store that commits late, and knows what was written when. */
export function createRecordingStore(): RecordingStore {
  const store = createMemoryStore({ clock: createSystemClock() });
  const written: Written[] = [];
  const early: Written[] = [];
  const committed = new Map<string, number>();
  const recorded = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append(append, settled) {
      const { stream } = writer;
      for (const line of append.events) {
        const { type, child } = JSON.parse(line) as Written;
        const event = { stream, type, ...(child === undefined ? {} : { child }) };
        written.push(event);
        if (child !== undefined && (committed.get(child.session) ?? 0) < child.seq) early.push(event);
      }
      writer.append(append, (error) =>
        setImmediate(() => {
          committed.set(stream, append.expectedSeq + append.events.length);
          settled(error);
        }),
      );
    },
  });
  return {
    ...store,
    written,
    early,
    create: async (stream, head) => recorded(await store.create(stream, head)),
    begin(stream, head) {
      const { writer, made } = store.begin(stream, head);
      return { writer: recorded(writer), made };
    },
    acquire: async (stream) => recorded(await store.acquire(stream)),
  };
}
