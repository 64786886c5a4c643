import type { ReactNode } from 'react';
import type { Paged } from '../../data/use-paged.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';

export interface PagedListProps<Item> {
  readonly list: Paged<Item>;
  readonly label: string;
  /** The message if the list cannot be read. */
  readonly failure: string;
  readonly empty: ReactNode;
  readonly idOf: (item: Item) => string;
  readonly row: (item: Item) => ReactNode;
  /** At the start of the footer. */
  readonly foot?: ReactNode;
}

/** A paged list in all of its states: loading, empty, failed, longer than shown. */
export function PagedList<Item>({ list, label, failure, empty, idOf, row, foot }: PagedListProps<Item>) {
  return (
    <>
      {list.error === undefined ? null : (
        <div className="p-3">
          <ErrorState title={failure} error={list.error} onRetry={list.reload} />
        </div>
      )}
      {list.kind === 'loading' ? <Loading label={`Reading: ${label}`} rows={5} /> : null}
      {list.kind === 'ready' && list.items.length === 0 ? empty : null}
      {list.items.length === 0 ? null : (
        <ul aria-label={label} className="divide-y divide-line">
          {list.items.map((item) => (
            <li key={idOf(item)}>{row(item)}</li>
          ))}
        </ul>
      )}
      {list.kind === 'ready' ? (
        <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-1.5 text-small text-ink-faint">
          {foot ??
            (list.items.length === 0 ? null : <span>{plural(list.items.length, 'entry', 'entries')}</span>)}
          <span className="flex-1" />
          <Button size="small" kind="quiet" icon="refresh" busy={list.reading} onClick={list.reload}>
            Refresh
          </Button>
          {list.more ? (
            <Button size="small" kind="quiet" busy={list.reading} onClick={list.loadMore}>
              Load more
            </Button>
          ) : null}
        </div>
      ) : null}
    </>
  );
}
