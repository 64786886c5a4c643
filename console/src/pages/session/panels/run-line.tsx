import { Link } from 'wouter';
import type { RunSummary } from '../../../../../telltale/src/events/run-summary.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { Button } from '../../../ui/button.tsx';
import { StatusBadge } from '../../../ui/status-badge.tsx';
import { ownLead } from '../model/own-lead.ts';
import type { RunRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';

export interface RunLineProps {
  /** Where the session's log set it off; undefined where it was called in another way. */
  readonly row: RunRow | undefined;
  readonly summary: RunSummary | undefined;
}

/** One workflow run of the session. */
export function RunLine({ row, summary }: RunLineProps) {
  const { moment, isLive, model, select } = useSessionView();
  const run = row?.run ?? summary?.id ?? '';
  const isLead = summary !== undefined && summary.id === ownLead(model.stateAt(moment.seq));
  const how = row?.trigger ?? summary?.trigger ?? (isLead ? 'leads the session' : 'called');
  const end = row?.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const status = end?.status ?? (isLive ? (summary?.status ?? 'running') : 'running');
  const from = row?.at ?? summary?.startedAt ?? 0;
  const to = end?.at ?? (summary !== undefined && status !== 'running' ? summary.updatedAt : moment.at);
  const where = isLive ? (summary?.waiting?.for ?? summary?.step) : undefined;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2 text-small last:border-b-0">
      <StatusBadge status={status} bare />
      <Link href={`/runs/${encodeURIComponent(run)}`} className="font-semibold hover:underline">
        {row?.workflow ?? summary?.workflow}
      </Link>
      <span className="text-ink-faint">{how}</span>
      {where === undefined ? null : (
        <span className="text-ink-soft">
          {status === 'waiting' ? 'waits for' : 'at'} {where}
        </span>
      )}
      {end?.error === undefined ? null : (
        <span className="min-w-0 break-words text-fail">{end.error.message}</span>
      )}
      <span className="ml-auto text-ink-faint tabular-nums">{formatDuration(Math.max(0, to - from))}</span>
      {row === undefined ? null : (
        <Button size="small" kind="quiet" icon="why" onClick={() => select(row.seq)}>
          Why
        </Button>
      )}
    </li>
  );
}
