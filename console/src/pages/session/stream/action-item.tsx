import { useState } from 'react';
import { Link } from 'wouter';
import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { ActionStatus } from '../../../../../telltale/src/log/action.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { JsonView } from '../../../ui/json-view.tsx';
import { statusAt } from '../model/action-phases.ts';
import { brief } from '../model/brief-value.ts';
import type { ActionRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';
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

/** An action at the place where it was declared: its parameters, status and result. */
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

/** All of an action: parameters, attempts, result or error, and its own log. */
function ActionDetails({ row }: { readonly row: ActionRow }) {
  const { id, moment } = useSessionView();
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const input = row.attempts.findLast(({ seq }) => seq <= moment.seq)?.input ?? row.action.parameters;
  return (
    <div className="mt-1.5 flex flex-col gap-1.5 pl-5">
      <JsonView value={input} label="Parameters" />
      {end?.output === undefined ? null : <JsonView value={end.output} label="Result" />}
      {end?.error === undefined ? null : <ErrorState title="The action failed." error={end.error} />}
      {end?.reason === undefined ? null : <p className="text-small text-ink-soft">{end.reason}</p>}
      {row.child === undefined ? null : (
        <Link
          href={`/sessions/${encodeURIComponent(row.child)}`}
          className="text-small text-accent underline"
        >
          The sub-agent’s session
        </Link>
      )}
      {row.action.kind === 'workflow' && row.attempts.length > 0 ? (
        <Link
          href={`/runs/${encodeURIComponent(`${id}.${row.action.id}`)}`}
          className="text-small text-accent underline"
        >
          The workflow run
        </Link>
      ) : null}
    </div>
  );
}
