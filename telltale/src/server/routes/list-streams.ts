import { z } from '@hono/zod-openapi';
import type { Page } from '../../client/api.ts';
import type { Store, StreamFilter, StreamInfo } from '../../store/store.ts';
import { type AskedPage, pageOf } from './paging.ts';

/** Where a stream stands in a list of streams: when it was made, and its id. */
const place = z.tuple([z.number(), z.string()]);

/** A page of sessions or runs, newest first. */
export async function listStreams<Summary>(
  store: Store,
  asked: AskedPage,
  filter: StreamFilter & { readonly kind: StreamInfo['kind'] },
  summaryOf: (info: StreamInfo) => Promise<Summary>,
): Promise<Page<Summary>> {
  const { items, next } = await pageOf(
    asked,
    place,
    (behind, limit) =>
      store.list({
        ...{ ...filter, limit },
        ...(behind === undefined ? {} : { before: { createdAt: behind[0], stream: behind[1] } }),
      }),
    ({ createdAt, stream }) => [createdAt, stream] as [number, string],
  );
  return { items: await Promise.all(items.map(summaryOf)), ...(next === undefined ? {} : { next }) };
}
