import type { Page } from '../../client/api.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { Store, StreamFilter, StreamInfo } from '../../store/store.ts';
import { type AskedPage, numberPlace, pageOf } from './paging.ts';
import type { Quarantines } from './quarantines.ts';

/** A page of sessions or runs, newest first. */
export async function listStreams<Summary>(
  store: Store,
  asked: AskedPage,
  filter: StreamFilter & { readonly kind: StreamInfo['kind'] },
  quarantines: Quarantines,
  summaryOf: (info: StreamInfo) => Promise<Summary>,
): Promise<Page<Summary>> {
  // The store does not know what a fleet has quarantined: there it still has the status from before.
  const aside = filter.status === undefined ? [] : await quarantines.inFleet();
  const isAside = new Set(aside.map(({ stream }) => stream));
  const added = filter.status?.includes(QUARANTINED) === true ? aside.filter(matching(filter)) : [];
  const { items, next } = await pageOf(
    asked,
    numberPlace,
    async (behind, limit) => {
      const listed = await store.list({
        ...filter,
        limit: limit + aside.length,
        ...(behind === undefined ? {} : { before: { place: behind[0] } }),
      });
      return [
        ...listed.filter(({ stream }) => !isAside.has(stream)),
        ...added.filter(({ place }) => behind === undefined || place < behind[0]),
      ]
        .sort((one, other) => other.place - one.place)
        .slice(0, limit);
    },
    ({ place }) => [place] as [number],
  );
  return { items: await Promise.all(items.map(summaryOf)), ...(next === undefined ? {} : { next }) };
}

const matching =
  ({ kind, name, parent }: StreamFilter) =>
  (info: StreamInfo): boolean =>
    (kind === undefined || info.kind === kind) &&
    (name === undefined || info.name === name) &&
    (parent === undefined || info.parent === parent);
