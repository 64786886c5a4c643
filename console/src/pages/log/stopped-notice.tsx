import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';

export interface StoppedNoticeProps {
  readonly kind: 'session' | 'run';
  readonly message: string;
  readonly onRetry: () => void;
}

/** Warns that newer events may be missing. */
export const StoppedNotice = ({ kind, message, onRetry }: StoppedNoticeProps) => (
  <div
    role="status"
    className="flex shrink-0 flex-wrap items-center gap-2 rounded-lg border border-wait bg-wait-soft px-3 py-2 text-small"
  >
    <Icon name="offline" size={14} className="text-wait" />
    <p className="min-w-0 flex-1">
      <strong className="font-semibold">No more events arrive.</strong> You see the {kind} as it was. Nothing
      is lost. {message}
    </p>
    <Button size="small" icon="refresh" onClick={onRetry}>
      Try again
    </Button>
  </div>
);
