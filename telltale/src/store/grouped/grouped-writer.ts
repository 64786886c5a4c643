import type { Json } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { InboxMessage, StreamWriter } from '../store.ts';
import { streamReleased } from '../store-errors.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Results } from './messages.ts';
import type { WriterState } from './writer-state.ts';

export interface GroupedWriterEdges {
  readonly queue: CommitQueue;
  readonly state: WriterState;
  /** Of a stream that is on its way: until then it has no number. */
  readonly made: Promise<void> | undefined;
  readonly onWake: StreamWriter['onWake'];
}

const RELEASE_AGAIN_MS = 1_000;

export function createGroupedWriter({ queue, state, made, onWake }: GroupedWriterEdges): StreamWriter {
  const { stream, epoch, committed: head } = state;
  const wakes = new Set<() => void>();
  let isReleased = false;
  let releasing: Promise<void> | undefined;

  const giveUp = async (): Promise<void> => {
    for (const end of wakes) end();
    wakes.clear();
    if (state.id <= 0) await made?.catch(() => undefined); // one that was not made is nobody's
    if (state.id > 0) await letGo();
  };

  /** Where the store is full or locked it is tried until it works: else nobody could take the stream as long as this process lives. */
  const letGo = async (): Promise<void> => {
    try {
      await queue.write({ op: 'release', stream: state.id, epoch });
    } catch (thrown) {
      if (toRuntimeError(thrown).retryable)
        setTimeout(() => letGo().catch(() => undefined), RELEASE_AGAIN_MS).unref(); // it goes on by itself
      throw thrown;
    }
  };

  return {
    stream,
    epoch,
    head,
    append(append, settled) {
      if (!isReleased) queue.append(state, append, settled);
      else queue.refuse(state, streamReleased(stream), settled);
    },
    snapshot(seq, body) {
      // It only saves time: without it recovery begins at an older one, and a file that cannot be written shows at
      // the appends around it.
      const keep = async () => {
        if (state.id <= 0) await made;
        await queue.write({ op: 'snapshot', stream: state.id, epoch, seq, body });
      };
      keep().catch(() => undefined);
    },
    inbox: async () => (await queue.read({ op: 'inbox', stream })).map(toMessage),
    onWake(wake) {
      const end = onWake(wake);
      wakes.add(end);
      return () => {
        end();
        wakes.delete(end);
      };
    },
    release() {
      isReleased = true;
      releasing ??= giveUp().catch((thrown: unknown) => {
        releasing = undefined; // whoever asks again has it tried again
        throw thrown;
      });
      return releasing;
    },
  };
}

export function toMessage({ id, at, message }: Results['inbox'][number]): InboxMessage {
  const { kind, from, body } = JSON.parse(message) as { kind: string; from: string; body: Json };
  return { id, at, kind, from, body };
}
