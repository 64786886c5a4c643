import { type LoadAgentOptions, loadAgent } from '../load-agent.ts';
import { findWorkflow } from './find-workflow.ts';
import type { LoadedWorkflow } from './run-types.ts';

export interface LoadWorkflowOptions extends Omit<LoadAgentOptions, 'name'> {
  /** The workflow's name, if the agent has several. */
  readonly workflow?: string;
  /** The agent's name, if the file has several. */
  readonly agent?: string;
}
/** Reads an agent's manifest and finds one of its workflows. */
export async function loadWorkflow(
  path: string,
  { workflow, agent, ...options }: LoadWorkflowOptions = {},
): Promise<LoadedWorkflow> {
  const loaded = await loadAgent(path, { ...options, ...(agent === undefined ? {} : { name: agent }) });
  return findWorkflow(loaded, workflow);
}
