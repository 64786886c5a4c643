import { useEffect } from 'react';
import type { NotificationInfo } from '../../../../telltale/src/client/api.ts';
import { useKept } from '../../data/use-kept.ts';
import { usePaged } from '../../data/use-paged.ts';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NotificationRow } from './notification-row.tsx';
import { PagedList } from './paged-list.tsx';

type Shown = NotificationInfo['status'] | '';

const FILTERS: readonly (readonly [Shown, string])[] = [
  ['', 'All'],
  ['sent', 'Sent'],
  ['waiting', 'To be sent again'],
  ['dead', 'Given up'],
];
const PAGE = 100;
/** As long as some wait for their next try. */
const LOOK_MS = 5_000;

/** What people were told, and what could not be told. */
export function NotificationsPanel() {
  const [status, setStatus] = useKept<Shown>('activity.notifications', '');
  const list = usePaged(`notifications ${status}`, (client, cursor, signal) =>
    client.notifications(
      {
        limit: PAGE,
        ...(status === '' ? {} : { status }),
        ...(cursor === undefined ? {} : { cursor }),
      },
      { signal },
    ),
  );
  const { reload } = list;
  const waits = list.items.length <= PAGE && list.items.some((one) => one.status === 'waiting');
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [waits, reload]);
  return (
    <>
      <fieldset className="flex flex-wrap gap-1 border-b border-line p-2">
        <legend className="sr-only">Which</legend>
        {FILTERS.map(([one, label]) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === status}
            onClick={() => setStatus(one)}
            className={cx(
              'h-7 rounded-full border px-2.5 text-small font-medium',
              one === status
                ? 'border-accent bg-accent-soft text-accent'
                : 'border-line bg-surface text-ink-soft hover:border-line-strong',
            )}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <PagedList
        list={list}
        label="Notifications"
        failure="The notifications could not be read."
        empty={
          <EmptyState icon="message" title={status === '' ? 'No notifications yet.' : 'There are none.'}>
            “notify” steps of workflows, and rules in manifests (“notifications”: a session failed, a review
            waits, an agent is stuck) tell people over webhooks, commands or the desktop.
          </EmptyState>
        }
        idOf={({ id }) => id}
        row={(notification) => <NotificationRow notification={notification} onChanged={reload} />}
      />
    </>
  );
}
