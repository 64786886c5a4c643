import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { AgentInfo, WorkflowInfo } from '../../client/api.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { envOf, hideEnv } from '../../manifest/env/hide-env.ts';
import { workflowsOf } from '../../session/runs/workflow-catalog.ts';
import type { CatalogEntry } from '../catalog/agent-catalog.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { agentFiles } from './agent-files.ts';
import { modelChoices } from './chosen-model.ts';
import { addOperation } from './operation.ts';
import { agentDetails, agentPage, workflowPage } from './schemas/agents.ts';
import { shownAgent } from './shown-manifest.ts';
import { workflowInfo } from './workflow-info.ts';

const tag = 'agents';

/** The agents that the server knows, and their workflows. */
export function mountAgents(app: OpenAPIHono<AppEnv>, { catalog, env }: ServerDeps): void {
  const all = () => ({ items: catalog.list().map(infoOf) });
  addOperation(
    app,
    {
      method: 'get',
      path: '/agents',
      id: 'agents',
      tag,
      role: 'read',
      answer: agentPage,
      summary: 'All agents',
    },
    all,
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/agents/reload',
      id: 'reloadAgents',
      tag,
      role: 'admin',
      answer: agentPage,
      summary: 'Read all manifests again',
      description: 'Where a file as it is now cannot be used, the agent before it stays in force.',
    },
    async () => {
      await catalog.reload();
      return all();
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/agents/{name}',
      id: 'agent',
      tag,
      role: 'read',
      summary: 'An agent with its manifest and files',
      params: z.object({ name: z.string() }),
      answer: agentDetails,
    },
    async ({ params: { name } }) => {
      const entry = catalog.list().find((each) => each.name === name);
      if (entry === undefined)
        throw agentUnknown(
          name,
          catalog.list().map((each) => each.name),
        );
      return {
        ...infoOf(entry),
        models: modelChoices(entry.agent, env),
        manifest: entry.agent === undefined ? null : shownAgent(entry.agent),
        files: await agentFiles(entry),
      };
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/workflows',
      id: 'workflows',
      tag,
      role: 'read',
      answer: workflowPage,
      summary: 'The workflows of all agents, with their graphs',
    },
    () => ({
      items: catalog
        .list()
        .flatMap(({ name, agent }): readonly WorkflowInfo[] =>
          agent === undefined
            ? []
            : [...workflowsOf(agent).values()].map((workflow) =>
                workflowInfo(name, workflow, envOf(agent.project.manifests)),
              ),
        ),
    }),
  );
}

function infoOf({ name, path, agent, loadedAt, problems }: CatalogEntry): AgentInfo {
  const fromEnv = envOf(agent?.project.manifests ?? []);
  const description = agent?.manifest.description;
  return {
    name,
    path,
    loadedAt,
    problems,
    ...(description === undefined ? {} : { description: hideEnv(description, fromEnv) }),
    model: hideEnv(agent?.manifest.model ?? '', fromEnv),
    examples: (agent?.manifest.examples ?? []).map((example) => hideEnv(example, fromEnv)),
    workflows: agent === undefined ? [] : [...workflowsOf(agent).keys()],
    usable: agent !== undefined,
  };
}

const agentUnknown = (asked: string, known: readonly string[]) =>
  new RuntimeError('agent_unknown', `No agent is named "${asked.slice(0, 200)}".`, {
    hint: known.length === 0 ? 'This server serves no agent.' : suggest(asked, known, 'Agents'),
  });
