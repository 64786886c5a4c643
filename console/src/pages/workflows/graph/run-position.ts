import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import { stepName } from '../../../../../telltale/src/log/reduce-run.ts';
import type { RunState, StepState } from '../../../../../telltale/src/log/run-state.ts';
import type { Status } from '../../../ui/status-look.ts';

/** The state of a run at a node. */
export interface NodeMark {
  readonly status: Status | 'skipped';
  /** How often it was started or entered. */
  readonly times: number;
}

export interface RunPosition {
  /** By the ids of nodes and groups. What the run has not reached is missing. */
  readonly marks: ReadonlyMap<string, NodeMark>;
  /** The indices of the edges that the run took. */
  readonly taken: ReadonlySet<number>;
}

/** How the status of a step is shown. */
export const STEP_MARKS: Readonly<Record<StepState['status'], NodeMark['status']>> = {
  running: 'running',
  retrying: 'waiting',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
  interrupted: 'failed',
  compensated: 'cancelled',
};

/** The position of a run in the graph of its workflow, folded from its events. */
export function runPosition(graph: ApiGraph, run: RunState): RunPosition {
  const steps = stepMarks(run);
  const marks = new Map<string, NodeMark>();
  const isMachine = graph.nodes.some(({ kind }) => kind === 'state' || kind === 'final');
  const visits = new Map<string, number>();
  for (const { state } of run.visited) visits.set(state, (visits.get(state) ?? 0) + 1);
  for (const { id, kind, name, group } of graph.nodes) {
    const mark =
      kind === 'start'
        ? begun(run)
        : kind === 'end'
          ? ended(run)
          : kind === 'state' || kind === 'final'
            ? stateMark(run, name, visits.get(name) ?? 0)
            : steps.get(kind === 'split' ? (graph.groups.find((one) => one.id === group)?.name ?? '') : name);
    if (mark !== undefined) marks.set(id, mark);
  }
  for (const { id, name } of graph.groups) {
    const mark = steps.get(name);
    if (mark !== undefined) marks.set(id, mark);
  }
  const isOver = (id: string) => {
    const status = marks.get(id)?.status;
    return status !== undefined && status !== 'skipped';
  };
  const went = new Set(
    run.visited.map(({ state }, at) => JSON.stringify([run.visited[at - 1]?.state ?? '', state])),
  );
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]));
  const taken = graph.edges.flatMap(({ from, to }, at) => {
    const isTaken = isMachine
      ? went.has(JSON.stringify([names.get(from) ?? '', names.get(to) ?? '']))
      : isOver(from) && isOver(to);
    return isTaken ? [at] : [];
  });
  return { marks, taken: new Set(taken) };
}

const begun = (run: RunState): NodeMark | undefined =>
  run.seq === 0 ? undefined : { status: 'completed', times: 1 };

const ended = (run: RunState): NodeMark | undefined =>
  run.status === 'completed' ? { status: 'completed', times: 1 } : undefined;

function stateMark(run: RunState, name: string, times: number): NodeMark | undefined {
  if (times === 0) return undefined;
  return { status: run.state === name ? run.status : 'completed', times };
}

/** By the steps' names. A running step takes precedence over an ended one, and the latest of those counts. */
function stepMarks(run: RunState): ReadonlyMap<string, NodeMark> {
  const asked = new Set(run.reviews.flatMap(({ step, choice }) => (choice === undefined ? [step] : [])));
  const marks = new Map<string, NodeMark>();
  for (const step of run.steps.values()) {
    const name = stepName(step.step);
    const before = marks.get(name);
    const times = (before?.times ?? 0) + 1;
    const isOpen = step.status === 'running' || step.status === 'retrying';
    const over = run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled';
    const status =
      isOpen && over
        ? run.status
        : step.status === 'running' && (asked.has(step.step) || run.status === 'waiting')
          ? 'waiting'
          : STEP_MARKS[step.status];
    const goesOn = before?.status === 'running' || before?.status === 'waiting';
    marks.set(name, { status: goesOn && !isOpen ? before.status : status, times });
  }
  return marks;
}
