import type { Clock } from '../../kernel/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { joinAppend } from '../limits.ts';
import type { Append, StreamOwner, StreamWriter } from '../store.ts';
import { streamLost, streamMoved, streamReleased } from '../store-errors.ts';
import type { MemoryHome, MemoryStream } from './memory-home.ts';
import { addRow } from './memory-rows.ts';
import { writeValue } from './memory-tables.ts';
import type { Settling } from './settling.ts';

/** Of a stream that is being begun: it is not there where its first append is refused. False once it is begun. */
export type Unmake = (why: RuntimeError) => boolean;

export interface MemoryWriterEdges {
  readonly home: MemoryHome;
  readonly clock: Pick<Clock, 'now'>;
  readonly stream: MemoryStream;
  readonly owner: StreamOwner;
  /** What this store writes; no longer this stream once it is let go. */
  readonly owned: Map<MemoryStream, StreamOwner>;
  readonly settling: Settling;
  readonly unmake: Unmake | undefined;
  /** Why the store takes nothing more. */
  readonly closed: () => RuntimeError | undefined;
}

export function createMemoryWriter(edges: MemoryWriterEdges): StreamWriter {
  const { home, clock, stream, owner, owned, settling, closed } = edges;
  let refusal: RuntimeError | undefined;
  let released = false;
  let { unmake } = edges;

  const write = (append: Append) => {
    const { expectedSeq, events, status, due, consumed, writes } = append;
    const body = joinAppend(stream.stream, append);
    if (stream.epoch !== owner.epoch) refusal = streamLost(stream.stream, owner.epoch);
    else if (stream.events.length !== expectedSeq)
      refusal = streamMoved(stream.stream, expectedSeq, stream.events.length);
    if (refusal !== undefined) throw refusal;
    addRow(stream.events, body, events.length);
    stream.updatedAt = clock.now();
    if (status !== undefined) {
      stream.status = status;
      stream.due = due;
    }
    if (consumed !== undefined) stream.inbox = stream.inbox.filter(({ id }) => !consumed.includes(id));
    for (const { table, key, value } of writes ?? [])
      writeValue(
        home,
        table,
        key,
        value === undefined ? undefined : { json: JSON.stringify(value), expiresAt: undefined },
      );
  };

  return {
    // A copy: docs/decisions/copies.md
    ...{
      stream: stream.stream,
      epoch: owner.epoch,
      head: stream.events.length,
      append(append, settled) {
        try {
          const why = refusal ?? (released ? streamReleased(stream.stream) : closed());
          if (why !== undefined) throw why;
          write(append);
          unmake = undefined;
          settling.settle(settled, undefined, append.events.length > 0 ? stream.stream : undefined);
        } catch (error) {
          const why = toRuntimeError(error);
          if (unmake?.(why) === true) refusal = why;
          settling.settle(settled, why, undefined);
        }
      },
      snapshot(seq, body) {
        if (released || refusal !== undefined || stream.epoch !== owner.epoch || seq > stream.events.length)
          return;
        const others = stream.snapshots.filter((other) => other.seq !== seq);
        stream.snapshots = [...others, { seq, body }].sort((a, b) => a.seq - b.seq);
      },
      inbox: async () => [...stream.inbox],
      onWake: (wake) => home.wakers.add(stream.stream, wake, owner),
      async release() {
        home.wakers.drop(stream.stream, owner);
        released = true;
        if (owned.get(stream) === owner) owned.delete(stream);
        if (stream.epoch === owner.epoch) stream.owner = undefined;
        await settling.settled();
      },
    },
  };
}

/** Of a stream that could not be made. */
export const refusedWriter = (stream: string, error: RuntimeError, settling: Settling): StreamWriter => ({
  ...{ stream, epoch: 1, head: 0 },
  append: (_append, settled) => settling.settle(settled, error, undefined),
  snapshot: () => undefined,
  inbox: async () => [],
  onWake: () => () => undefined,
  release: () => settling.settled(),
});
