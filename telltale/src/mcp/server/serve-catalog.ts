import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import { findWorkflow } from '../../session/runs/find-workflow.ts';
import type { LoadedWorkflow } from '../../session/runs/run-types.ts';
import { isManual, workflowsOf } from '../../session/runs/workflow-catalog.ts';

/** What a server offers. */
export interface ServeCatalog {
  readonly agents: readonly LoadedAgent<unknown>[];
  /** By the name that clients use: the workflow's own, or `AGENT/NAME` where several agents have different ones of it. */
  readonly workflows: ReadonlyMap<string, LoadedWorkflow<unknown>>;
}

/** Agents are unique by name. A workflow that several of them import is served once, in the name of the first. */
export function createServeCatalog(agents: readonly LoadedAgent<unknown>[]): ServeCatalog {
  const byName = new Map<string, LoadedAgent<unknown>>();
  for (const agent of agents) {
    const { name } = agent.manifest;
    const other = byName.get(name);
    if (other === undefined) byName.set(name, agent);
    else if (other.path !== agent.path) throw agentTwice(name, [other.path, agent.path]);
  }
  const served = [...byName.values()];
  const variants = new Map<string, LoadedWorkflow<unknown>[]>();
  for (const agent of served)
    for (const [name, manifest] of workflowsOf(agent)) {
      if (!isManual(manifest)) continue;
      const known = variants.get(name) ?? [];
      variants.set(name, known);
      const isKnown = known.some((each) => JSON.stringify(each.manifest) === JSON.stringify(manifest));
      if (!isKnown) known.push(findWorkflow(agent, name));
    }
  const workflows = [...variants].flatMap(([name, all]) =>
    all.map((each) => [all.length === 1 ? name : `${each.agent.manifest.name}/${name}`, each] as const),
  );
  return { agents: served, workflows: new Map(workflows) };
}

export function workflowIn({ workflows }: ServeCatalog, name: string): LoadedWorkflow<unknown> {
  const found = workflows.get(name);
  if (found !== undefined) return found;
  throw new RuntimeError('no_workflow', `No workflow is named "${name}".`, {
    hint:
      workflows.size === 0
        ? 'This server offers none.'
        : `${suggest(name, [...workflows.keys()], 'Workflows')} list_workflows says more of them.`,
  });
}

const agentTwice = (name: string, paths: readonly string[]) =>
  new RuntimeError('usage', `Two agents are named "${name}": in ${paths.join(' and ')}.`, {
    hint: 'Serve them by servers of their own, or give one of them another name.',
  });
