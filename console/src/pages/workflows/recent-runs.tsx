import { useState } from 'react';
import { Link } from 'wouter';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import type { RunSummary } from '../../../../telltale/src/log/run-summary.ts';
import type { ListView, LiveList } from '../../data/live-list.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { Duration } from '../../ui/duration.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { runPath, sessionPath } from './paths.ts';

export interface RecentRunsProps {
  readonly list: ListView<RunSummary> & Pick<LiveList<RunSummary>, 'refresh' | 'loadMore'>;
  readonly title?: string;
  readonly named?: boolean;
  /** Shows only the runs of this agent, because names of workflows are not unique. */
  readonly agent?: string;
}

const FIRST = 15;
const STEP = 50;

/** Runs as they start and end. Older ones are read on demand. */
export function RecentRuns({ list, title = 'Recent runs', named = false, agent }: RecentRunsProps) {
  const [shown, setShown] = useState(FIRST);
  const rows = agent === undefined ? list.rows : list.rows.filter((run) => run.agent === agent);
  const more = () => {
    setShown(shown + STEP);
    if (shown + STEP > rows.length && list.more) void list.loadMore();
  };
  return (
    <Panel title={title} bodyClassName="">
      {list.error === undefined ? null : (
        <div className="p-3">
          <ErrorState title="The runs could not be read." error={list.error} onRetry={list.refresh} />
        </div>
      )}
      {list.kind === 'loading' ? (
        <Loading label="Reading the runs" rows={3} />
      ) : rows.length === 0 && list.kind === 'ready' && !list.more ? (
        <p className="p-4 text-ink-soft">No runs yet.</p>
      ) : (
        <RunTable runs={rows.slice(0, shown)} named={named} />
      )}
      {rows.length > shown || list.more ? (
        <div className="flex items-center justify-between border-t border-line px-3 py-1.5 text-small text-ink-faint">
          {plural(Math.min(shown, rows.length), 'run')}
          <Button size="small" kind="quiet" busy={list.reading} onClick={more}>
            Show more
          </Button>
        </div>
      ) : null}
    </Panel>
  );
}

interface RunTableProps {
  readonly runs: readonly RunSummary[];
  /** Whether each run shows the name of its workflow. */
  readonly named?: boolean;
}

/** Runs, newest first, one per line. */
const RunTable = ({ runs, named = false }: RunTableProps) => (
  <ul aria-label="Runs" className="divide-y divide-line">
    {runs.map((run) => (
      <li
        key={run.id}
        className="relative flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 hover:bg-hover has-[a:focus-visible]:bg-hover"
      >
        <StatusBadge status={run.status} {...(named ? {} : { bare: true })} />
        <Link
          href={runPath(run.id)}
          className="min-w-0 truncate font-medium -outline-offset-1 after:absolute after:inset-0"
        >
          {named ? `${run.agent} / ${run.workflow}` : <span className="font-mono text-small">{run.id}</span>}
        </Link>
        <span className="min-w-0 flex-1 basis-40 truncate text-small text-ink-soft">{whereOf(run)}</span>
        <span className="ml-auto flex items-center gap-3 text-small text-ink-faint">
          <span>
            {run.session === undefined ? (
              run.parent === undefined ? (
                'by hand'
              ) : (
                <Link href={runPath(run.parent)} className="relative z-10 hover:underline">
                  called by a run
                </Link>
              )
            ) : (
              <Link href={sessionPath(run.session)} className="relative z-10 text-accent hover:underline">
                {run.trigger === undefined ? 'by its session' : 'triggered by a session'}
              </Link>
            )}
          </span>
          <Duration from={run.startedAt} to={run.status === 'running' ? undefined : run.updatedAt} />
          <RelativeTime at={run.startedAt} className={named ? 'sm:w-18 sm:text-right' : ''} />
        </span>
      </li>
    ))}
  </ul>
);

function whereOf({ status, quarantine, waiting, error, state, step, steps }: RunSummary): string {
  if (quarantine !== undefined) return visibleText(quarantine.why);
  if (status === 'waiting') {
    const what = waiting?.for ?? 'something';
    return `waiting for ${what.startsWith('review ') ? 'an answer' : what}`;
  }
  if (error !== undefined) return error.message;
  if (status === 'running') return step === undefined ? '' : `at ${step}`;
  return state === undefined ? plural(steps.completed, 'step') : `ended in ${state}`;
}
