import type { WorkflowInfo } from '../../client/api.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { graphOf } from '../../workflows/graph/graph-of.ts';
import { withoutSecrets } from './shown-manifest.ts';

/** What is said of a workflow, as the agent that it belongs to has it. */
export function workflowInfo(agent: string, workflow: WorkflowManifest): WorkflowInfo {
  const { name, description, trigger, triggers = [], input } = workflow;
  const all = trigger === undefined ? triggers : [trigger];
  const { description: _, ...graph } = graphOf(workflow);
  return {
    ...{ agent, name, graph },
    ...(description === undefined ? {} : { description }),
    triggers: all.map((each) => withoutSecrets(each) as JsonObject),
    ...(input === undefined ? {} : { input: JSON.parse(JSON.stringify(input)) as JsonObject }),
  };
}
