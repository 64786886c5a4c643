import type { Store, StreamInfo } from '../store.ts';
import { eventPages } from './event-pages.ts';
import { hashStream } from './hash-stream.ts';
import { RESTORING } from './upkeep.ts';

/** How the stream of a copy stands to the one that it is of. `behind`: it begins as that one does, and lacks the rest. */
export type Likeness = 'same' | 'behind' | 'other';

export async function compareStreams(
  from: Store,
  source: StreamInfo,
  to: Store,
  target: StreamInfo,
  signal?: AbortSignal,
): Promise<Likeness> {
  const isSettled = target.status !== RESTORING;
  if (source.head === target.head && isSettled) {
    const [a, b] = await Promise.all([hashStream(from, source, signal), hashStream(to, target, signal)]);
    if (a === b) return 'same';
  }
  const isAkin =
    source.kind === target.kind && source.name === target.name && source.parent === target.parent;
  if (!isAkin || source.head < target.head) return 'other';
  return (await beginsAs(from, source.stream, to, target, signal)) ? 'behind' : 'other';
}

async function beginsAs(
  from: Store,
  source: string,
  to: Store,
  { stream, head }: StreamInfo,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const own = lines(from, source, head, signal);
  for await (const page of eventPages(to, stream, { through: head, signal }))
    for (const line of page) {
      const next = await own.next();
      if (next.done === true || next.value !== line) return false;
    }
  return true;
}

async function* lines(
  store: Store,
  stream: string,
  through: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void> {
  for await (const page of eventPages(store, stream, { through, signal })) yield* page;
}
