import { Link } from 'wouter';
import type { RunSummary } from '../../../../../telltale/src/log/run-summary.ts';
import { useLoaded } from '../../../data/use-loaded.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { StatusBadge } from '../../../ui/status-badge.tsx';
import { ownLead } from '../model/own-lead.ts';
import type { RunRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';

const PAGE = 200;

/**
 * The session's workflow runs: what started each one, its position, and how it ended. The list is read again when one
 * starts or ends.
 */
export function WorkflowsPanel() {
  const { id, model, moment, isLive } = useSessionView();
  const rows = model.waterfall.rows.filter((row) => row.kind === 'run' && row.seq <= moment.seq);
  const ended = rows.filter((row) => row.end !== undefined && row.end.seq <= moment.seq).length;
  const runs = useLoaded(`${id} ${isLive ? `${rows.length} ${ended}` : 'then'}`, (client, signal) =>
    client.runs({ session: id, limit: PAGE }, { signal }),
  );
  if (runs.kind === 'failed')
    return (
      <div className="p-3">
        <ErrorState title="The runs could not be read." error={runs.error} onRetry={runs.reload} />
      </div>
    );
  if (runs.kind === 'loading' && rows.length === 0) return <Loading label="Reading the runs" />;
  const summaries = runs.kind === 'ready' ? runs.value.items : [];
  const known = new Set(rows.flatMap((row) => (row.kind === 'run' ? [row.run] : [])));
  // The guiding run exists from the start. When other runs were called, their own logs tell.
  const lead = ownLead(model.stateAt(moment.seq));
  const others = summaries.filter((run) => !known.has(run.id) && (isLive || run.id === lead));
  if (rows.length === 0 && others.length === 0)
    return (
      <EmptyState icon="workflows" title="No workflow has been triggered.">
        A workflow appears here when this agent’s declarations trigger it. See{' '}
        <Link href="/workflows" className="text-accent underline">
          all workflows
        </Link>
        .
      </EmptyState>
    );
  return (
    <ul className="flex flex-col">
      {rows.map((row) =>
        row.kind === 'run' ? (
          <RunLine key={row.run} row={row} summary={summaries.find((run) => run.id === row.run)} />
        ) : null,
      )}
      {others.map((summary) => (
        <RunLine key={summary.id} row={undefined} summary={summary} />
      ))}
    </ul>
  );
}

interface RunLineProps {
  /** The row of the trigger that started it. Undefined if it was started in another way. */
  readonly row: RunRow | undefined;
  readonly summary: RunSummary | undefined;
}

/** One workflow run of the session. */
function RunLine({ row, summary }: RunLineProps) {
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
