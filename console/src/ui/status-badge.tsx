import { cx } from './class-names.ts';
import { Icon } from './icon.tsx';
import { STATUS_LOOKS, type Status } from './status-look.ts';

export interface StatusBadgeProps {
  readonly status: Status;
  /** Replaces the status's own word, for example with "Waiting for you". */
  readonly label?: string;
  /** Shows only the icon. The word is in the tooltip and for screen readers. */
  readonly bare?: boolean;
}

export function StatusBadge({ status, label, bare = false }: StatusBadgeProps) {
  const look = STATUS_LOOKS[status];
  const text = label ?? look.label;
  return (
    <span
      title={bare ? text : undefined}
      className={cx(
        'inline-flex shrink-0 items-center gap-1 rounded-full text-small font-medium whitespace-nowrap',
        look.ink,
        look.ground,
        bare ? 'size-5 justify-center' : 'h-5 pr-2 pl-1.5',
      )}
    >
      <Icon name={look.icon} size={12} className={status === 'running' ? 'animate-turn' : ''} />
      <span className={bare ? 'sr-only' : ''}>{text}</span>
    </span>
  );
}
