import { Link } from 'wouter';
import type { NotificationInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import type { Status } from '../../ui/status-look.ts';
import { LongText } from '../session/stream/long-text.tsx';
import { streamPath } from '../workflows/paths.ts';

const LOOKS: Readonly<Record<NotificationInfo['status'], readonly [Status, string]>> = {
  sent: ['completed', 'Sent'],
  waiting: ['waiting', 'Waits'],
  dead: ['failed', 'Given up'],
};

export interface NotificationRowProps {
  readonly notification: NotificationInfo;
  readonly onChanged: () => void;
}

export function NotificationRow({ notification, onChanged }: NotificationRowProps) {
  const { id, at, channel, kind, agent, about, message, stream, status, attempts, nextAt, error } =
    notification;
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const retry = useCall((client, options) => client.retryNotification(id, options));
  const onRetry = async () => {
    const now = await retry.run();
    if (now === undefined) return;
    toasts.say('info', now.status === 'sent' ? 'It was sent.' : 'It is tried again.');
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
                what it is about
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
