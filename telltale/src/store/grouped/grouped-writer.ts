import { toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { StoreListeners } from '../listeners.ts';
import type { InboxMessage, StreamWriter } from '../store.ts';
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

/** A writer whose methods need no `this`: callers copy it to wrap some of them. */
export function createGroupedWriter(deps: GroupedWriterDeps): StreamWriter {
  const { queue, state, wakers } = deps;
  const { stream, epoch, committed: head } = state;
  return {
    stream,
    epoch,
    head,
    append(lines, settled) {
      if (!state.released) queue.append(state, lines, settled);
      else queue.refuse(state, streamReleased(stream), settled);
    },
    whenDue: (handOver, isUrgent = false) => queue.whenDue(handOver, isUrgent),
    snapshot(seq, body) {
      // It only saves time: without it recovery begins at an older one, and a file that cannot be written shows at the
      // appends around it.
      keepSnapshot(deps, seq, body).catch(() => undefined);
    },
    inbox: async () => (await queue.read({ op: 'inbox', stream })).map(toMessage),
    onWake: (wake) => wakers.add(stream, wake, state),
    release() {
      queue.gather();
      state.released = true;
      state.releasing ??= giveUp(deps).catch((thrown: unknown) => {
        state.releasing = undefined; // whoever asks again has it tried again
        throw thrown;
      });
      return state.releasing;
    },
  };
}

async function keepSnapshot({ queue, state }: GroupedWriterDeps, seq: number, body: string) {
  if (state.id <= 0) await state.made;
  await queue.write({ op: 'snapshot', stream: state.id, epoch: state.epoch, seq, body });
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
