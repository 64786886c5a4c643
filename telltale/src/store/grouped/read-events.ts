import type { CommitQueue } from './commit-queue.ts';
import type { ReadChunk } from './messages.ts';

/** Events of a stream, chunk by chunk, so that others' commits come in between. */
export async function readEvents(
  queue: CommitQueue,
  stream: string,
  from: number,
  limit: number,
): Promise<readonly string[]> {
  const events: string[] = [];
  const start = Math.max(1, from);
  let next: number | null = start;
  while (next !== null && events.length < limit) {
    const left: number = limit - events.length;
    const chunk: ReadChunk = await queue.read({ op: 'read', stream, from: next, limit: left });
    const lines = chunk.bodies.flatMap((body) => body.split('\n'));
    for (let place = next - chunk.first; place < lines.length && events.length < limit; place++)
      events.push(lines[place] ?? '');
    next = chunk.next;
  }
  return events;
}
