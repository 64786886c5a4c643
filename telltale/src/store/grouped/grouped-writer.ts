import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { StoreListeners } from '../listeners.ts';
import type { Append, InboxMessage, StreamWriter } from '../store.ts';
import { streamReleased } from '../store-errors.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Results } from './messages.ts';
import type { WriterState } from './writer-state.ts';

export interface GroupedWriterDeps {
  readonly queue: CommitQueue;
  readonly state: WriterState;
  readonly wakers: StoreListeners<string>;
}

const RELEASE_AGAIN_MS = 1_000;

/** All that changes is in `state`, so that a copy with another method is the same writer. */
interface GroupedWriter extends StreamWriter, GroupedWriterDeps {}

export function createGroupedWriter({ queue, state, wakers }: GroupedWriterDeps): StreamWriter {
  const writer: GroupedWriter = {
    // A copy: docs/decisions/copies.md
    stream: state.stream,
    epoch: state.epoch,
    head: state.committed,
    queue,
    state,
    wakers,
    append,
    whenDue,
    snapshot,
    inbox,
    onWake,
    release,
  };
  return writer;
}

function append(this: GroupedWriter, lines: Append, settled: (error?: RuntimeError) => void): void {
  const { queue, state } = this;
  if (!state.released) queue.append(state, lines, settled);
  else queue.refuse(state, streamReleased(state.stream), settled);
}

function whenDue(this: GroupedWriter, handOver: () => void, isUrgent = false): void {
  this.queue.whenDue(handOver, isUrgent);
}

/**
 * It only saves time: without it recovery begins at an older one, and a file that cannot be written shows at the appends
 * around it.
 */
function snapshot(this: GroupedWriter, seq: number, body: string): void {
  keepSnapshot(this, seq, body).catch(() => undefined);
}

async function keepSnapshot({ queue, state }: GroupedWriterDeps, seq: number, body: string) {
  if (state.id <= 0) await state.made;
  await queue.write({ op: 'snapshot', stream: state.id, epoch: state.epoch, seq, body });
}

async function inbox(this: GroupedWriter): Promise<readonly InboxMessage[]> {
  return (await this.queue.read({ op: 'inbox', stream: this.stream })).map(toMessage);
}

function onWake(this: GroupedWriter, wake: () => void): () => void {
  const { state, wakers } = this;
  return wakers.add(state.stream, wake, state);
}

function release(this: GroupedWriter): Promise<void> {
  const { queue, state } = this;
  queue.gather();
  state.released = true;
  state.releasing ??= giveUp(this).catch((thrown: unknown) => {
    state.releasing = undefined; // whoever asks again has it tried again
    throw thrown;
  });
  return state.releasing;
}

async function giveUp(deps: GroupedWriterDeps): Promise<void> {
  const { state, wakers } = deps;
  wakers.drop(state.stream, state);
  if (state.id <= 0) await state.made?.catch(() => undefined); // one that was not made is nobody's
  if (state.id > 0) await letGo(deps);
}

/** Where the store is full or locked it is tried until it works: else nobody could take the stream as long as this process lives. */
async function letGo(deps: GroupedWriterDeps): Promise<void> {
  const { queue, state } = deps;
  try {
    await queue.write({ op: 'release', stream: state.id, epoch: state.epoch });
  } catch (thrown) {
    if (toRuntimeError(thrown).retryable)
      setTimeout(() => letGo(deps).catch(() => undefined), RELEASE_AGAIN_MS).unref(); // it goes on by itself
    throw thrown;
  }
}

export function toMessage({ id, at, message }: Results['inbox'][number]): InboxMessage {
  const { kind, from, body } = JSON.parse(message) as { kind: string; from: string; body: Json };
  return { id, at, kind, from, body };
}
