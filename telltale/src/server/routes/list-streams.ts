import type { Page } from '../../client/api.ts';
import type { Store, StreamFilter, StreamInfo } from '../../store/store.ts';
import { type AskedPage, numberPlace, pageOf } from './paging.ts';

/** A page of sessions or runs, newest first. */
export async function listStreams<Summary>(
  store: Store,
  asked: AskedPage,
  filter: StreamFilter & { readonly kind: StreamInfo['kind'] },
  summaryOf: (info: StreamInfo) => Promise<Summary>,
): Promise<Page<Summary>> {
  const { items, next } = await pageOf(
    asked,
    numberPlace,
    (behind, limit) =>
      store.list({
        ...{ ...filter, limit },
        ...(behind === undefined ? {} : { before: { place: behind[0] } }),
      }),
    ({ place }) => [place] as [number],
  );
  return { items: await Promise.all(items.map(summaryOf)), ...(next === undefined ? {} : { next }) };
}
