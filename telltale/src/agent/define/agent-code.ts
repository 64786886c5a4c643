import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError } from '../../lib/errors.ts';
import type { Model } from '../../models/model.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { reachOf } from '../reach-of.ts';

/** What `defineAgent` keeps beside the manifest. */
export interface AgentCode {
  /** Models by the reference that stands for them in the manifest. */
  readonly models: ReadonlyMap<string, Model>;
  readonly output: StandardSchemaV1 | undefined;
  /** Where its paths begin: it has no file that says so. */
  readonly folder: string;
}

/** Of an agent that was written in code, wherever it is imported. */
export const agentCode = ({
  project,
  manifest,
}: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>): AgentCode | undefined =>
  loadedAs({ project, manifest })?.code as AgentCode | undefined;

const loadedAs = ({ project, manifest }: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>) =>
  project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);

/** Whether anything it consists of can only come from a program, so that reading its files again is not enough. */
export function isInCode(agent: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>): boolean {
  const own = loadedAs(agent);
  return own !== undefined && reachOf(own, agent.project).some(({ code }) => code !== undefined);
}

/** A log holds no functions. */
export const agentInCode = (
  session: string,
  path: string,
  hint = 'Resume it from the program that has it: runtime.resume(session, { agent }).',
) =>
  new RuntimeError(
    'agent_in_code',
    `The agent of ${session} was written in code (${path}), at least in part.`,
    { hint },
  );

/** What `defineWorkflow` keeps beside the manifest. */
export interface WorkflowCode {
  /** What the input of a run becomes; without it the manifest's JSON Schema judges it. */
  readonly input: StandardSchemaV1 | undefined;
}

/** The schema of a library's own that a workflow's input is held against, if it has one. */
export const inputSchemaOf = (
  { project }: Pick<LoadedAgent<unknown>, 'project'>,
  workflow: string,
): StandardSchemaV1 | undefined => {
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Workflow' && name === workflow);
  return (loaded?.code as WorkflowCode | undefined)?.input;
};
