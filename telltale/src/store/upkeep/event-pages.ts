import type { Store } from '../store.ts';

export interface EventPagesOptions {
  readonly from?: number;
  /** The last event that is wanted; what comes later is left out. */
  readonly through?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The events of a stream, about a megabyte at a time. */
export async function* eventPages(
  { upkeep }: Pick<Store, 'upkeep'>,
  stream: string,
  { from = 1, through = Number.MAX_SAFE_INTEGER, signal }: EventPagesOptions = {},
): AsyncGenerator<readonly string[], void> {
  for (let next: number | undefined = from; next !== undefined && next <= through; ) {
    signal?.throwIfAborted();
    const page: Awaited<ReturnType<typeof upkeep.page>> = await upkeep.page(stream, next);
    const wanted = page.events.slice(0, through - next + 1);
    if (wanted.length > 0) yield wanted;
    next = page.next;
  }
}
