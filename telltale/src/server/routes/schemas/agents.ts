import { z } from '@hono/zod-openapi';
import type {
  AgentDetails,
  AgentInfo,
  ApiGraph,
  ManifestProblem,
  ModelChoice,
  WorkflowInfo,
} from '../../../client/api.ts';
import { answered, jsonObject, pageOf, type Shape, text, time } from './wire.ts';

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

export const agentPage = pageOf('AgentPage', answered<AgentInfo>('Agent', infoShape));

export const agentDetails = answered<AgentDetails>('AgentDetails', {
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

export const workflowPage = pageOf(
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
