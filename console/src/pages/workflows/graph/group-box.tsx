import type { NodeProps } from '@xyflow/react';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import { MARK_LOOKS } from './mark-looks.ts';
import type { DrawnGroup } from './to-flow.ts';

/** A step that has steps inside: they stand in it. */
export function GroupBox({ data: { name, type, mark } }: NodeProps<DrawnGroup>) {
  const look = mark === undefined ? undefined : MARK_LOOKS[mark.status];
  return (
    <div
      className={cx(
        'size-full rounded-lg border border-dashed bg-sunken/60 px-3 py-1.5',
        look === undefined ? 'border-line-strong' : look.border,
      )}
    >
      <p className="flex items-center gap-1.5 text-small text-ink-soft">
        <span className="truncate font-semibold text-ink">{name}</span>
        <span>{type}</span>
        {look === undefined ? null : (
          <span className={cx('ml-auto', look.ink)}>
            <Icon name={look.icon} size={14} className={mark?.status === 'running' ? 'animate-turn' : ''} />
            <span className="sr-only">{look.label}</span>
          </span>
        )}
      </p>
    </div>
  );
}
