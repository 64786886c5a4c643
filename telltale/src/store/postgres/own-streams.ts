import type { Outcome, Taken } from '../grouped/messages.ts';
import { isAppend, type Write } from './group/split-group.ts';

/** The streams that this store writes, as far as it knows: their names and last events. */
export interface OwnStreams {
  /** The last committed event; undefined of a stream that is another's. */
  head(stream: string): number | undefined;
  /** All of them, as they were taken. */
  all(): readonly (readonly [id: number, epoch: number])[];
  /** Notes what a group did, and gives the streams that have new events, with the last of each. */
  committed(writes: readonly Write[], outcomes: ReadonlyMap<number, Outcome>): ReadonlyMap<string, number>;
}

interface Own {
  readonly stream: string;
  readonly epoch: number;
  head: number;
}

export function createOwnStreams(): OwnStreams {
  const byId = new Map<number, Own>();
  const byName = new Map<string, number>();

  const add = (stream: string, { id, epoch, head }: Taken) => {
    byId.set(id, { stream, epoch, head });
    byName.set(stream, id);
  };
  const drop = (id: number) => {
    const own = byId.get(id);
    if (own === undefined) return;
    byId.delete(id);
    if (byName.get(own.stream) === id) byName.delete(own.stream);
  };

  return {
    head(stream) {
      const id = byName.get(stream);
      return id === undefined ? undefined : byId.get(id)?.head;
    },
    all: () => [...byId].map(([id, { epoch }]) => [id, epoch] as const),
    committed(writes, outcomes) {
      const moved = new Map<string, number>();
      for (const [place, write] of writes.entries()) {
        const outcome = outcomes.get(place);
        if (isAppend(write)) {
          const [stream, , expectedSeq, count] = write;
          const made = stream < 0 ? outcomes.get(-1 - stream) : undefined;
          const id = made !== undefined && 'value' in made ? (made.value as Taken).id : stream;
          if (outcome !== undefined) {
            if ('error' in outcome && outcome.error.code === 'stream_lost') drop(id);
            continue;
          }
          const own = byId.get(id);
          if (own === undefined || count === 0) continue;
          own.head = expectedSeq + count;
          moved.set(own.stream, own.head);
        } else if (outcome !== undefined && 'value' in outcome) {
          if (write.op === 'create') {
            const head = write.first?.[3] ?? 0;
            add(write.stream, { ...(outcome.value as Taken), head });
            if (head > 0) moved.set(write.stream, head);
          } else if (write.op === 'acquire' && 'id' in (outcome.value as Taken))
            add(write.stream, outcome.value as Taken);
          else if (write.op === 'release') drop(write.stream);
          else if (write.op === 'settle' || write.op === 'remove') drop(byName.get(write.stream) ?? 0);
        }
      }
      return moved;
    },
  };
}
