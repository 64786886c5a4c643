import type { Store, StreamFilter, StreamInfo } from '../store.ts';

const PAGE = 500;

/** Streams, newest first, page by page. */
export async function* listPages(
  store: Pick<Store, 'list'>,
  filter: Omit<StreamFilter, 'before' | 'limit'> = {},
  signal?: AbortSignal,
): AsyncGenerator<readonly StreamInfo[], void> {
  for (let last: StreamInfo | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly StreamInfo[] = await store.list({
      ...filter,
      limit: PAGE,
      ...(last === undefined ? {} : { before: last }),
    });
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
  }
}

/** Names of all streams, oldest first: whoever called comes before what was called. */
export async function allStreams(
  store: Pick<Store, 'list'>,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of listPages(store, {}, signal)) for (const { stream } of page) names.push(stream);
  return names.reverse();
}
