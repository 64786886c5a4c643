import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { modelsWithKeys } from '../../agent/load-agent.ts';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { shownManifest } from '../../agent/runs/find-workflow.ts';
import { workflowsOf } from '../../agent/runs/run-types.ts';
import type {
  AgentDetails,
  AgentInfo,
  ApiGraph,
  ManifestProblem,
  ModelChoice,
  WorkflowInfo,
} from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type EnvValue, envOf, hideEnv } from '../../manifest/environment.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { namedRef } from '../../manifest/schema/model-options.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { graphOf } from '../../workflows/graph/graph-of.ts';
import type { CatalogEntry } from '../catalog/agent-catalog.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation } from './operation.ts';
import { answered, jsonObject, pageOf, type Shape, text, time } from './schemas/wire.ts';

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
      description: 'If a file is broken, the last working version of its agent stays in use.',
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
    hint: known.length === 0 ? 'This server has no agents.' : suggest(asked, known, 'Agents'),
  });

/** Describes a workflow of an agent. */
function workflowInfo(agent: string, workflow: WorkflowManifest, fromEnv: readonly EnvValue[]): WorkflowInfo {
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

/** The most files of an agent that are shown, and the largest size of one. */
const MAX_FILES = 200;
const MAX_BYTES = 1_048_576;

/** The present files of an agent. A missing or large one has a note instead of its text. */
async function agentFiles({ path, agent, problems }: CatalogEntry): Promise<AgentDetails['files']> {
  const imported = agent?.project.manifests.map(({ file }) => file) ?? [];
  const paths = new Set(
    [path, ...problems.map(({ file }) => file), ...imported].map((each) => resolve(each)),
  );
  return Promise.all(
    [...paths].slice(0, MAX_FILES).map(async (file) => ({ path: file, text: await textOf(file) })),
  );
}

async function textOf(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) return `# ${size} bytes: too large to be shown.\n`;
    return await readFile(file, 'utf8');
  } catch (thrown) {
    return `# It cannot be read: ${(thrown as Error).message}\n`;
  }
}

const problem = answered<ManifestProblem>('ManifestProblem', {
  file: text,
  line: z.int(),
  column: z.int(),
  severity: z.enum(['error', 'warning']),
  code: text,
  message: text,
  hint: text.optional(),
});

const infoShape: Shape<AgentInfo> = {
  name: text,
  path: text,
  description: text.optional(),
  model: text,
  workflows: z.array(text),
  examples: z.array(text).openapi({ description: 'Inputs to try it with.' }),
  loadedAt: time,
  problems: z.array(problem),
  usable: z.boolean().openapi({ description: 'False where no version of it could be loaded.' }),
};

const agentPage = pageOf('AgentPage', answered<AgentInfo>('Agent', infoShape));

const agentDetails = answered<AgentDetails>('AgentDetails', {
  ...infoShape,
  models: z
    .array(answered<ModelChoice>('ModelChoice', { model: text, from: z.enum(['agent', 'provider']) }))
    .openapi({
      description:
        'What it can be started with instead: what its manifest names, and what providers have whose keys are set.',
    }),
  manifest: jsonObject.nullable().openapi({ description: 'The manifest that is in force.' }),
  files: z
    .array(z.object({ path: text, text }))
    .openapi({ description: 'The files it consists of, as they are now.' }),
});

const graph = answered<ApiGraph>('WorkflowGraph', {
  workflow: text,
  nodes: z.array(
    answered<ApiGraph['nodes'][number]>('GraphNode', {
      id: text,
      kind: z.enum(['start', 'end', 'state', 'final', 'step', 'split']),
      name: text,
      lines: z.array(text),
      group: text.optional(),
    }),
  ),
  groups: z.array(
    answered<ApiGraph['groups'][number]>('GraphGroup', {
      id: text,
      name: text,
      type: text,
      group: text.optional(),
    }),
  ),
  edges: z.array(
    answered<ApiGraph['edges'][number]>('GraphEdge', {
      from: text,
      to: text,
      kind: z.enum(['next', 'error', 'open', 'back']),
      label: text.optional(),
    }),
  ),
});

const workflowPage = pageOf(
  'WorkflowPage',
  answered<WorkflowInfo>('Workflow', {
    agent: text,
    name: text,
    description: text.optional(),
    triggers: z.array(jsonObject),
    input: jsonObject.optional(),
    graph,
  }),
);

/** Manifest keys whose values often come from the environment and must not be shown. */
const HIDDEN: ReadonlySet<string> = new Set([
  'secret',
  'token',
  'password',
  'authorization',
  'api_key',
  'headers',
  'env',
  'environment',
  'url',
  'connection',
]);

const HIDDEN_VALUE = '(hidden)';

/**
 * An agent's manifest as it is in use. Values from the environment are shown as their variables. Values of keys that
 * usually hold secrets are hidden, even if the file contains them as plain text.
 */
const shownAgent = ({ manifest, project }: Pick<LoadedAgent, 'manifest' | 'project'>): JsonObject =>
  hideEnv(withoutSecrets(shownManifest(manifest)) as JsonObject, envOf(project.manifests));

/** Plain data, without the values of keys that usually hold secrets. */
function withoutSecrets(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) =>
      HIDDEN.has(key) && each !== undefined ? HIDDEN_VALUE : each,
    ),
  ) as Json;
}

type Agent = LoadedAgent<unknown> | undefined;

const SCRIPTED = 'scripted:';

/**
 * The model a client asks for: a name in the agent's `models`, or `provider/model`. A script is a file on the server,
 * so only the manifest can choose one.
 */
export function chosenModel(asked: string, agent: Agent): string {
  const { model, models = {} } = agent?.manifest ?? {};
  const named = Object.hasOwn(models, asked) ? namedRef(models[asked]) : undefined;
  if (named !== undefined) return named;
  const isOwn = asked === model || Object.values(models).some((entry) => namedRef(entry) === asked);
  if (isOwn || (isModelRef(asked) && !asked.startsWith(SCRIPTED))) return asked;
  throw notChosen(asked, Object.keys(models));
}

/** The models a person can choose from: those of the manifest, then those of providers whose keys are set. */
export function modelChoices(agent: Agent, env: ServerDeps['env'] = {}): readonly ModelChoice[] {
  const own = Object.keys(agent?.manifest.models ?? {}).map(
    (name): ModelChoice => ({ model: name, from: 'agent' }),
  );
  const provided = modelsWithKeys(env).map((model): ModelChoice => ({ model, from: 'provider' }));
  return [...own, ...provided];
}

const notChosen = (asked: string, known: readonly string[]) =>
  new RuntimeError('bad_option', `"${asked.slice(0, 200)}" is not a model that can be chosen here.`, {
    hint:
      known.length === 0
        ? 'Write provider/model (anthropic/claude-sonnet-4-5).'
        : `Write provider/model, or a name of the agent's "models". ${suggest(asked, known, 'Names')}`,
  });
