import { lazy, type ReactNode, Suspense } from 'react';
import { cx } from '../../ui/class-names.ts';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { WorkflowGraphProps } from './graph/workflow-graph.tsx';

// The drawing library is large, and nothing else needs it.
const WorkflowGraph = lazy(async () => ({
  default: (await import('./graph/workflow-graph.tsx')).WorkflowGraph,
}));

export interface GraphPanelProps extends WorkflowGraphProps {
  /** The run whose position is shown. */
  readonly actions?: ReactNode;
  readonly className?: string;
}

export const GraphPanel = ({ actions, className, ...graph }: GraphPanelProps) => (
  <Panel
    title="Graph"
    {...(actions === undefined ? {} : { actions })}
    className={cx('overflow-hidden', className)}
    bodyClassName="relative"
  >
    <div className="absolute inset-0">
      <Suspense fallback={<Loading label="Drawing the graph" />}>
        <WorkflowGraph {...graph} />
      </Suspense>
    </div>
  </Panel>
);
