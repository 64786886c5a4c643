import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError } from '../../lib/errors.ts';
import type { Model } from '../../models/model.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { reachOf } from '../reach-of.ts';

/** What `defineAgent` keeps in addition to the manifest. */
export interface AgentCode {
  /** Models by their references in the manifest. */
  readonly models: ReadonlyMap<string, Model>;
  readonly output: StandardSchemaV1 | undefined;
  /** The base folder of its paths. */
  readonly folder: string;
}

/** The code of an agent that is written in code. */
export const agentCode = ({
  project,
  manifest,
}: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>): AgentCode | undefined =>
  loadedAs({ project, manifest })?.code as AgentCode | undefined;

const loadedAs = ({ project, manifest }: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>) =>
  project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);

/** Whether any part of the agent is written in code, so that it cannot be read again from files. */
export function isInCode(agent: Pick<LoadedAgent<unknown>, 'project' | 'manifest'>): boolean {
  const own = loadedAs(agent);
  return own !== undefined && reachOf(own, agent.project).some(({ code }) => code !== undefined);
}

/** An agent in code cannot be resumed from the log alone, because a log has no functions. */
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

/** What `defineWorkflow` keeps in addition to the manifest. */
export interface WorkflowCode {
  /** Checks and transforms the input of a run. Without it, the manifest's JSON Schema checks it. */
  readonly input: StandardSchemaV1 | undefined;
}

/** The schema of a workflow's input, if it is one of a schema library. */
export const inputSchemaOf = (
  { project }: Pick<LoadedAgent<unknown>, 'project'>,
  workflow: string,
): StandardSchemaV1 | undefined => {
  const loaded = project.manifests.find(({ kind, name }) => kind === 'Workflow' && name === workflow);
  return (loaded?.code as WorkflowCode | undefined)?.input;
};
