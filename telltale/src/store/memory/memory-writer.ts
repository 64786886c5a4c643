import type { Clock } from '../../kernel/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { joinAppend } from '../limits.ts';
import type { Append, InboxMessage, StreamOwner, StreamWriter } from '../store.ts';
import { streamLost, streamMoved, streamReleased } from '../store-errors.ts';
import type { MemoryHome, MemoryStream } from './memory-home.ts';
import { addRow } from './memory-rows.ts';
import { writeValue } from './memory-tables.ts';
import type { Settling } from './settling.ts';

/** Of a stream that is being begun: it is not there where its first append is refused. False once it is begun. */
export type Unmake = (why: RuntimeError) => boolean;

/** What all writers of a store have. */
export interface MemoryWriterDeps {
  readonly home: MemoryHome;
  readonly clock: Pick<Clock, 'now'>;
  readonly settling: Settling;
  /** What the store writes; no longer a stream that is let go. */
  readonly owned: Map<MemoryStream, StreamOwner>;
  /** Why the store takes nothing more. */
  readonly closed: () => RuntimeError | undefined;
}

interface MemoryWriterState {
  readonly stream: MemoryStream;
  readonly owner: StreamOwner;
  refusal: RuntimeError | undefined;
  released: boolean;
  unmake: Unmake | undefined;
}

/** A record and functions, as those of other stores: with closures a session in memory had 0.4 KB more. A copy is the same writer. */
interface MemoryWriter extends StreamWriter {
  readonly deps: MemoryWriterDeps;
  readonly state: MemoryWriterState;
}

export function createMemoryWriter(
  deps: MemoryWriterDeps,
  stream: MemoryStream,
  owner: StreamOwner,
  unmake: Unmake | undefined,
): StreamWriter {
  const writer: MemoryWriter = {
    // Copies: docs/decisions/copies.md
    stream: stream.stream,
    epoch: owner.epoch,
    head: stream.events.length,
    deps,
    state: { stream, owner, refusal: undefined, released: false, unmake },
    append,
    snapshot,
    inbox,
    onWake,
    release,
  };
  return writer;
}

function append(this: MemoryWriter, lines: Append, settled: (error?: RuntimeError) => void): void {
  const { deps, state } = this;
  const { settling } = deps;
  const { stream } = this;
  try {
    const why = state.refusal ?? (state.released ? streamReleased(stream) : deps.closed());
    if (why !== undefined) throw why;
    write(this, lines);
    state.unmake = undefined;
    settling.settle(settled, undefined, lines.events.length > 0 ? stream : undefined);
  } catch (error) {
    const why = toRuntimeError(error);
    if (state.unmake?.(why) === true) state.refusal = why;
    settling.settle(settled, why, undefined);
  }
}

function write({ deps, state }: MemoryWriter, lines: Append): void {
  const { home, clock } = deps;
  const { stream, owner } = state;
  const { expectedSeq, events, status, due, consumed, writes } = lines;
  const body = joinAppend(stream.stream, lines);
  if (stream.epoch !== owner.epoch) state.refusal = streamLost(stream.stream, owner.epoch);
  else if (stream.events.length !== expectedSeq)
    state.refusal = streamMoved(stream.stream, expectedSeq, stream.events.length);
  if (state.refusal !== undefined) throw state.refusal;
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
}

function snapshot(this: MemoryWriter, seq: number, body: string): void {
  const { stream, owner, refusal, released } = this.state;
  if (released || refusal !== undefined || stream.epoch !== owner.epoch || seq > stream.events.length) return;
  const others = stream.snapshots.filter((other) => other.seq !== seq);
  stream.snapshots = [...others, { seq, body }].sort((a, b) => a.seq - b.seq);
}

async function inbox(this: MemoryWriter): Promise<readonly InboxMessage[]> {
  return [...this.state.stream.inbox];
}

function onWake(this: MemoryWriter, wake: () => void): () => void {
  return this.deps.home.wakers.add(this.stream, wake, this.state);
}

async function release(this: MemoryWriter): Promise<void> {
  const { deps, state } = this;
  const { stream, owner } = state;
  deps.home.wakers.drop(this.stream, state);
  state.released = true;
  if (deps.owned.get(stream) === owner) deps.owned.delete(stream);
  if (stream.epoch === owner.epoch) stream.owner = undefined;
  await deps.settling.settled();
}

/** Of a stream that could not be made. */
export const refusedWriter = (stream: string, error: RuntimeError, settling: Settling): StreamWriter => ({
  stream,
  epoch: 1,
  head: 0,
  append: (_append, settled) => settling.settle(settled, error, undefined),
  snapshot: () => undefined,
  inbox: async () => [],
  onWake: () => () => undefined,
  release: () => settling.settled(),
});
