import { Link } from 'wouter';
import { useLoaded } from '../../../data/use-loaded.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { ownLead } from '../model/own-lead.ts';
import { useSessionView } from '../session-view.ts';
import { RunLine } from './run-line.tsx';

const PAGE = 200;

/** The workflow runs of the session: what set each off, where it is, how it ended. Asked anew when one begins or ends. */
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
  // The run that leads it is there from its beginning; when others were called, their own logs say.
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
