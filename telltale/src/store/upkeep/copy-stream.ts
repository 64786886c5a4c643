import type { Store, StreamInfo, StreamWriter } from '../store.ts';
import { appendCommitted } from './append-committed.ts';
import { eventPages } from './event-pages.ts';
import { RESTORING } from './upkeep.ts';

/**
 * A stream of the copy, to be filled. One that is there already begins as the source does. Makes new ones in the order of
 * the calls.
 */
export async function takeForCopy(
  to: Store,
  { stream, kind, name, title, parent }: StreamInfo,
  isNew: boolean,
): Promise<StreamWriter> {
  const head = { kind, name, title, status: RESTORING, ...(parent === undefined ? {} : { parent }) };
  if (isNew) return to.create(stream, head);
  const writer = await to.upkeep.acquire(stream);
  await appendCommitted(writer, { expectedSeq: writer.head, events: [], status: RESTORING });
  return writer;
}

export interface CopyStreamOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onEvents: (events: number) => void;
}

/**
 * Brings a stream up to what the source has. Until it is settled nobody can work on it; a stream that is still being
 * written at the source is not settled. Broken off at any place, the next copy goes on there.
 */
export async function copyStream(
  from: Store,
  to: Store,
  writer: StreamWriter,
  { signal, onEvents }: CopyStreamOptions,
): Promise<void> {
  const { stream } = writer;
  try {
    const [info, snapshots, messages] = await Promise.all([
      from.info(stream),
      from.snapshots(stream),
      from.upkeep.inbox(stream),
    ]);
    if (info === undefined) return; // taken out meanwhile: the check at the end says so
    let seq = writer.head;
    for await (const page of eventPages(from, stream, { from: seq + 1, through: info.head, signal })) {
      await appendCommitted(writer, { expectedSeq: seq, events: page });
      seq += page.length;
      onEvents(page.length);
    }
    for (const each of snapshots) if (each.seq <= seq) writer.snapshot(each.seq, each.body);
    if (info.owner !== undefined) return;
    const { status, due, createdAt, updatedAt } = info;
    const times = { createdAt, updatedAt, ...(due === undefined ? {} : { due }) };
    await to.upkeep.settle(stream, writer.epoch, { status, ...times, messages });
  } finally {
    await writer.release();
  }
}
