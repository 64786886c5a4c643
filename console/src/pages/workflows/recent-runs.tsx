import { useState } from 'react';
import type { RunSummary } from '../../../../telltale/src/events/run-summary.ts';
import type { ListView, LiveList } from '../../data/live-list.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { RunTable } from './run-table.tsx';

export interface RecentRunsProps {
  readonly list: ListView<RunSummary> & Pick<LiveList<RunSummary>, 'refresh' | 'loadMore'>;
  readonly title?: string;
  readonly named?: boolean;
  /** Only those of an agent: names of workflows are not unique. */
  readonly agent?: string;
}

const FIRST = 15;
const STEP = 50;

/** Runs as they begin and end; older ones when they are asked for. */
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
