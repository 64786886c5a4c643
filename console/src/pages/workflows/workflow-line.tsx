import { Link } from 'wouter';
import type { WorkflowInfo } from '../../../../telltale/src/client/api.ts';
import type { RunSummary } from '../../../../telltale/src/events/run-summary.ts';
import { workflowPath } from './paths.ts';
import { RunDots } from './run-dots.tsx';
import { TriggerList } from './trigger-list.tsx';

export interface WorkflowLineProps {
  readonly workflow: WorkflowInfo;
  /** Its own, newest first. */
  readonly runs: readonly RunSummary[];
}

export const WorkflowLine = ({ workflow, runs }: WorkflowLineProps) => (
  <li className="flex flex-wrap items-start gap-x-6 gap-y-2 px-4 py-3">
    <div className="min-w-0 flex-1 basis-72">
      <Link href={workflowPath(workflow.agent, workflow.name)} className="font-semibold hover:underline">
        {workflow.name}
      </Link>
      <p className="mb-1 max-w-3xl text-ink-soft">{workflow.description ?? 'No description.'}</p>
      <TriggerList triggers={workflow.triggers} />
    </div>
    <RunDots runs={runs} />
  </li>
);
