import type { AgentInfo, ApiGraph } from '../../../../../telltale/src/client/api.ts';
import type { RunState } from '../../../../../telltale/src/log/run-state.ts';

export interface MissingGraph {
  readonly title: string;
  readonly text: string;
}

type Known = Pick<RunState, 'workflow' | 'manifest'>;

/** Why the server has no graph for a run whose workflow is not on its list. */
export function missingGraph(
  { workflow, manifest }: Known,
  agents: readonly Pick<AgentInfo, 'name' | 'usable'>[],
): MissingGraph {
  const { agent: name, path } = manifest;
  const agent = agents.find((each) => each.name === name);
  if (agent === undefined)
    return {
      title: 'No graph: the agent is not loaded here.',
      text: `Graphs are drawn from manifests, and this server has not loaded the agent "${name}". The run was started with ${path}. Start the server with that agent to see the graph.`,
    };
  if (!agent.usable)
    return {
      title: 'No graph: the manifest has errors.',
      text: `Graphs are drawn from manifests, and no version of the agent "${name}" could be loaded. Fix the manifest and reload it to see the graph.`,
    };
  return {
    title: 'No graph: the workflow is gone.',
    text: `The agent "${name}" has no workflow "${workflow}" any more. It was removed or renamed after this run started.`,
  };
}

/**
 * The outermost steps and states of a run that the graph lacks, because the workflow was different when the run
 * started.
 */
export function missingSteps(
  graph: Pick<ApiGraph, 'nodes' | 'groups'>,
  { steps, visited, pinned = [] }: Pick<RunState, 'steps' | 'visited' | 'pinned'>,
): readonly string[] {
  const drawn = new Set([...graph.nodes, ...graph.groups].map(({ name }) => name));
  const known = [
    ...pinned.map(({ at }) => outermost(at)),
    ...[...steps.values()].map(({ step }) => outermost(step)),
    ...visited.map(({ state }) => state),
  ];
  return [...new Set(known)].filter((name) => !drawn.has(name));
}

/** `each` for the address `each[0]/build~2`: the outermost step or state of the address. */
const outermost = (address: string): string => (address.split('/')[0] ?? '').replace(/[~!#@[].*$/, '');
