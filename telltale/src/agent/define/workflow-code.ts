import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { LoadedAgent } from '../loaded-agent.ts';

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
