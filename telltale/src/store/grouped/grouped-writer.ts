import { added, NONE } from '../../kernel/grow.ts';
import type { Json } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Listeners } from '../listeners.ts';
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
  readonly wakers: Listeners<string>;
}

const RELEASE_AGAIN_MS = 1_000;

export function createGroupedWriter(edges: GroupedWriterEdges): StreamWriter {
  const { stream, epoch, committed: head } = edges.state;
  let wakes: readonly (() => void)[] = NONE;
  let releasing: Promise<void> | undefined;
  return {
    stream,
    epoch,
    head,
    append(append, settled) {
      const { queue, state } = edges;
      if (releasing === undefined) queue.append(state, append, settled);
      else queue.refuse(state, streamReleased(state.stream), settled);
    },
    snapshot(seq, body) {
      // It only saves time: without it recovery begins at an older one, and a file that cannot be written shows at
      // the appends around it.
      keepSnapshot(edges, seq, body).catch(() => undefined);
    },
    inbox: async () => (await edges.queue.read({ op: 'inbox', stream: edges.state.stream })).map(toMessage),
    onWake(wake) {
      const end = edges.wakers.add(edges.state.stream, wake);
      wakes = added(wakes, end);
      return () => {
        end();
        wakes = wakes.filter((each) => each !== end);
      };
    },
    release() {
      if (releasing === undefined) {
        for (const end of wakes) end();
        wakes = NONE;
        releasing = giveUp(edges);
      }
      return releasing;
    },
  };
}

async function keepSnapshot({ queue, state, made }: GroupedWriterEdges, seq: number, body: string) {
  if (state.id <= 0) await made;
  await queue.write({ op: 'snapshot', stream: state.id, epoch: state.epoch, seq, body });
}

async function giveUp(edges: GroupedWriterEdges): Promise<void> {
  const { state, made } = edges;
  if (state.id <= 0) await made?.catch(() => undefined); // one that was not made is nobody's
  if (state.id > 0) await letGo(edges);
}

/** Where the store is full or locked it is tried until it works: else nobody could take the stream as long as this process lives. */
async function letGo(edges: GroupedWriterEdges): Promise<void> {
  const { queue, state } = edges;
  try {
    await queue.write({ op: 'release', stream: state.id, epoch: state.epoch });
  } catch (thrown) {
    if (toRuntimeError(thrown).retryable)
      setTimeout(() => letGo(edges).catch(() => undefined), RELEASE_AGAIN_MS).unref(); // it goes on by itself
    throw thrown;
  }
}

export function toMessage({ id, at, message }: Results['inbox'][number]): InboxMessage {
  const { kind, from, body } = JSON.parse(message) as { kind: string; from: string; body: Json };
  return { id, at, kind, from, body };
}
