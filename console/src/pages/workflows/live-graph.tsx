import { useMemo } from 'react';
import { Link } from 'wouter';
import type { ApiGraph } from '../../../../telltale/src/client/api.ts';
import type { RunSummary } from '../../../../telltale/src/events/run-summary.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { useRunModel } from '../runs/use-run-model.ts';
import { runPosition } from './graph/run-position.ts';
import { GraphPanel } from './graph-panel.tsx';
import { runPath } from './paths.ts';

export interface LiveGraphProps {
  readonly graph: ApiGraph;
  readonly run: RunSummary;
  readonly className?: string;
}

/** The graph with the position of a run, as it goes. */
export function LiveGraph({ graph, run, className }: LiveGraphProps) {
  const { model, version } = useRunModel(run.id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the state, which stays one, is another.
  const position = useMemo(() => runPosition(graph, model.stateAt()), [graph, model, version]);
  return (
    <GraphPanel
      graph={graph}
      position={position}
      {...(className === undefined ? {} : { className })}
      actions={
        <span className="flex min-w-0 items-center gap-2 text-small text-ink-faint">
          <StatusBadge status={run.status} />
          <Link href={runPath(run.id)} className="truncate text-accent hover:underline">
            the run that began <RelativeTime at={run.startedAt} />
          </Link>
        </span>
      }
    />
  );
}
