import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { type LoadAgentOptions, loadAgent } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { LoadedWorkflow } from './run-types.ts';
import { workflowsOf } from './workflow-catalog.ts';

export interface LoadWorkflowOptions extends Omit<LoadAgentOptions, 'name'> {
  /** Which workflow, where the agent has several. */
  readonly workflow?: string;
  /** Which agent, where the file holds several. */
  readonly agent?: string;
}

/** Reads an agent's manifest, and finds one of its workflows. */
export async function loadWorkflow(
  path: string,
  { workflow, agent, ...options }: LoadWorkflowOptions = {},
): Promise<LoadedWorkflow> {
  const loaded = await loadAgent(path, { ...options, ...(agent === undefined ? {} : { name: agent }) });
  return findWorkflow(loaded, workflow);
}

/** One of an agent's workflows: the one of that name, or the only one. */
export function findWorkflow(agent: LoadedAgent<unknown>, name: string | undefined): LoadedWorkflow {
  const known = workflowsOf(agent);
  const only = known.size === 1 ? [...known.keys()][0] : undefined;
  const wanted = name ?? only;
  if (wanted === undefined) throw whichWorkflow(agent, [...known.keys()]);
  const manifest = known.get(wanted);
  if (manifest === undefined) throw workflowUnknown(agent, wanted, [...known.keys()]);
  return { manifest, agent };
}

const whichWorkflow = ({ manifest: { name }, path }: LoadedAgent<unknown>, known: readonly string[]) =>
  new RuntimeError(
    'no_workflow',
    known.length === 0
      ? `The agent "${name}" (${path}) has no workflow.`
      : `The agent "${name}" (${path}) has ${known.length} workflows: ${known.join(', ')}.`,
    {
      hint:
        known.length === 0
          ? 'Import one: "import: { workflows: [./workflows/*.yml] }".'
          : `Say which: telltale workflow run ${path} ${known[0]}`,
    },
  );

export const workflowUnknown = (
  { manifest: { name }, path }: LoadedAgent<unknown>,
  asked: string,
  known: readonly string[],
) =>
  new RuntimeError('no_workflow', `The agent "${name}" (${path}) has no workflow named "${asked}".`, {
    hint: suggest(asked, known, 'Its workflows'),
  });
