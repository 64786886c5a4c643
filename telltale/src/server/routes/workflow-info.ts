import type { WorkflowInfo } from '../../client/api.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type EnvValue, hideEnv } from '../../manifest/env/hide-env.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { graphOf } from '../../workflows/graph/graph-of.ts';
import { withoutSecrets } from './shown-manifest.ts';

/** What is said of a workflow, as the agent that it belongs to has it. */
export function workflowInfo(
  agent: string,
  workflow: WorkflowManifest,
  fromEnv: readonly EnvValue[],
): WorkflowInfo {
  const { name, description, trigger, triggers = [], input } = workflow;
  const all = trigger === undefined ? triggers : [trigger];
  const { description: _, ...graph } = graphOf(workflow);
  const shown = {
    graph,
    ...(description === undefined ? {} : { description }),
    triggers: all.map((each) => withoutSecrets(each) as JsonObject),
    ...(input === undefined ? {} : { input: JSON.parse(JSON.stringify(input)) as JsonObject }),
  };
  return { agent, name, ...(hideEnv(shown as unknown as JsonObject, fromEnv) as unknown as typeof shown) };
}
