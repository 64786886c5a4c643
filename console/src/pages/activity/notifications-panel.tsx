import { useEffect } from 'react';
import { Link } from 'wouter';
import type { NotificationInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { usePaged } from '../../data/use-paged.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import type { Status } from '../../ui/status-look.ts';
import { LongText } from '../session/stream/long-text.tsx';
import { streamPath } from '../workflows/paths.ts';
import { PagedList } from './paged-list.tsx';

type Shown = NotificationInfo['status'] | '';

const FILTERS: readonly (readonly [Shown, string])[] = [
  ['', 'All'],
  ['sent', 'Sent'],
  ['waiting', 'To be sent again'],
  ['dead', 'Given up'],
];
const PAGE = 100;
/** How often the list is read while a notification waits for its next attempt. */
const LOOK_MS = 5_000;

/** The notifications that were sent, and those that failed. */
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
          <EmptyState
            icon="message"
            title={status === '' ? 'No notifications yet.' : 'No notification matches.'}
          >
            A “notify” step of a workflow sends one, and so does a “notifications” rule of a manifest, for
            example when a session fails or a review waits.
          </EmptyState>
        }
        idOf={({ id }) => id}
        row={(notification) => <NotificationRow notification={notification} onChanged={reload} />}
      />
    </>
  );
}

const LOOKS: Readonly<Record<NotificationInfo['status'], readonly [Status, string]>> = {
  sent: ['completed', 'Sent'],
  waiting: ['waiting', 'Waiting'],
  dead: ['failed', 'Given up'],
};

interface NotificationRowProps {
  readonly notification: NotificationInfo;
  readonly onChanged: () => void;
}

function NotificationRow({ notification, onChanged }: NotificationRowProps) {
  const { id, at, channel, kind, agent, about, message, stream, status, attempts, nextAt, error } =
    notification;
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const retry = useCall((client, options) => client.retryNotification(id, options));
  const onRetry = async () => {
    const now = await retry.run();
    if (now === undefined) return;
    toasts.say(
      'info',
      now.status === 'sent' ? 'The notification was sent.' : 'The notification will be sent again.',
    );
    onChanged();
  };
  const [look, label] = LOOKS[status];
  return (
    <div className="flex flex-wrap items-start gap-x-3 gap-y-1 px-3 py-2.5">
      <StatusBadge status={look} label={label} />
      <div className="min-w-0 flex-1 basis-64">
        <LongText text={message} first={240} className="font-medium" />
        <p className="text-small text-ink-faint">
          {about} · {agent} · {channel} ({kind}) · {plural(attempts, 'try', 'tries')}
          {nextAt === undefined || status !== 'waiting' ? null : (
            <>
              {' · next '}
              <RelativeTime at={nextAt} />
            </>
          )}
          {stream === undefined ? null : (
            <>
              {' · '}
              <Link href={streamPath(stream)} className="text-accent underline">
                See what it is about
              </Link>
            </>
          )}
        </p>
        {error === undefined ? null : <p className="mt-0.5 text-small break-words text-fail">{error}</p>}
        {retry.error === undefined ? null : (
          <p role="alert" className="mt-0.5 text-small text-fail">
            {retry.error.message} {retry.error.hint ?? ''}
          </p>
        )}
      </div>
      {status === 'dead' ? (
        <Button
          size="small"
          icon="refresh"
          busy={retry.busy}
          blocked={blocked}
          onClick={() => void onRetry()}
        >
          Send again
        </Button>
      ) : null}
      <RelativeTime at={at} className="min-w-16 text-right text-small text-ink-faint" />
    </div>
  );
}
