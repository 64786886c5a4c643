import { useState } from 'react';
import type { ActionStatus } from '../../../../../telltale/src/events/action.ts';
import { visibleText } from '../../../../../telltale/src/kernel/visible-text.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { statusAt } from '../model/action-phases.ts';
import { brief } from '../model/brief-value.ts';
import type { ActionRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';
import { ActionDetails } from './action-details.tsx';
import { ItemFrame } from './item-frame.tsx';

const LOOKS: Readonly<Record<ActionStatus, readonly [icon: IconName, ink: string]>> = {
  waiting: ['clock', 'text-wait'],
  running: ['spinner', 'text-accent animate-turn'],
  completed: ['check', 'text-done'],
  failed: ['cross', 'text-fail'],
  skipped: ['slash', 'text-off'],
  cancelled: ['slash', 'text-off'],
  interrupted: ['alert', 'text-stall'],
  compensated: ['history', 'text-off'],
};

/** An action where it was asked for: what with, how it stands, what came of it. */
export function ActionItem({ row, depth }: { readonly row: ActionRow; readonly depth: number }) {
  const { moment, model, isLive } = useSessionView();
  const [isOpen, setOpen] = useState(false);
  const status = statusAt(row, moment);
  const [icon, ink] = LOOKS[status];
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const progress = isLive && status === 'running' ? model.live().progress.get(row.action.id) : undefined;
  const input = visibleText(brief(row.attempts.at(-1)?.input ?? row.action.parameters, 90));
  const outcome =
    end?.error?.message ?? end?.reason ?? (end?.output === undefined ? '' : brief(end.output, 120));
  return (
    <ItemFrame seq={row.seq} label={`Action ${row.action.id}`}>
      <div className={depth > 0 ? 'ml-3' : ''}>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex w-full min-w-0 items-center gap-1.5 rounded text-left text-small hover:bg-hover"
        >
          <Icon name={icon} size={13} className={ink} />
          <span className="sr-only">{status}: </span>
          <span className="shrink-0 font-semibold">{row.action.name}</span>
          <span className="shrink-0 font-mono text-micro text-ink-faint">{row.action.id}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-micro text-ink-faint">
            {input === '{}' ? '' : input}
          </span>
          {end?.ms === undefined ? null : (
            <span className="shrink-0 text-micro text-ink-faint tabular-nums">{formatDuration(end.ms)}</span>
          )}
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
        </button>
        {progress === undefined ? null : (
          <p className="mt-0.5 truncate pl-5 font-mono text-micro text-accent">{brief(progress, 120)}</p>
        )}
        {isOpen || outcome === '' ? null : (
          <p
            className={cx(
              'mt-0.5 line-clamp-2 pl-5 text-micro break-words',
              end?.error === undefined ? 'text-ink-soft' : 'text-fail',
            )}
          >
            {outcome}
          </p>
        )}
        {isOpen ? <ActionDetails row={row} /> : null}
      </div>
    </ItemFrame>
  );
}
