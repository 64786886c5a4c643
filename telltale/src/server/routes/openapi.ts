import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi';
import { z } from '@hono/zod-openapi';
import type { AppEnv, ServerEdges } from '../server-edges.ts';
import { answerJson } from './operation.ts';
import { health, readiness } from './schemas/daemon.ts';
import { apiError } from './schemas/error.ts';
import { jsonObject } from './schemas/wire.ts';

/** `GET /openapi.json`: what the routes say of themselves, and what others serve beside them. */
export function mountOpenApi(app: OpenAPIHono<AppEnv>, { version }: ServerEdges): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token with a role: read, run or admin. None is needed on loopback until one is made.',
  });
  for (const path of BESIDE) app.openAPIRegistry.registerPath(path);
  let document: string | undefined;
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(
      app.getOpenAPI31Document({
        openapi: '3.1.0',
        info: {
          title: 'Telltale',
          version,
          description:
            'Agents, their sessions and workflow runs: what they do, why, and how to take a hand in it.',
          license: { name: 'MIT' },
        },
        servers: [{ url: '/' }],
        tags: TAGS,
      }),
    );
    return answerJson(c, document);
  });
}

const TAGS = [
  { name: 'agents', description: 'What can be started.' },
  { name: 'sessions', description: 'Runs of agents.' },
  { name: 'runs', description: 'Runs of workflows.' },
  { name: 'events', description: 'What happened, and why.' },
  { name: 'reviews', description: 'What waits for a person.' },
  { name: 'artifacts', description: 'Decisions as code.' },
  { name: 'memory', description: 'What is known of a folder.' },
  { name: 'daemon', description: 'The server itself.' },
  { name: 'machines', description: 'For probes, collectors and senders of hooks.' },
  { name: 'front ends', description: 'Protocols of others: the page of each says what is sent.' },
];

const errors = {
  '4XX': {
    description: 'What is wrong with the request.',
    content: { 'application/json': { schema: apiError } },
  },
  '5XX': {
    description: 'What is wrong with the server.',
    content: { 'application/json': { schema: apiError } },
  },
} as const;

const json = (schema: z.ZodType) => ({ 'application/json': { schema } });
const stream = (description: string) => ({
  'text/event-stream': { schema: z.string().openapi({ description }) },
});
const body = { body: { required: true, content: json(jsonObject) } };
const open = { security: [] };
const guarded = { security: [{ bearer: [] }, {}] };

/** Served by other parts of the server. */
const BESIDE: readonly RouteConfig[] = [
  {
    ...{ method: 'get', path: '/healthz', operationId: 'health', tags: ['machines'], ...open },
    summary: 'Whether the process answers',
    responses: { 200: { description: 'It does.', content: json(health) }, ...errors },
  },
  {
    ...{ method: 'get', path: '/readyz', operationId: 'ready', tags: ['machines'], ...open },
    summary: 'Whether work is taken',
    responses: {
      200: { description: 'It is.', content: json(readiness) },
      503: { description: 'Not yet, or not any more.', content: json(readiness) },
      '4XX': errors['4XX'],
    },
  },
  {
    ...{ method: 'get', path: '/metrics', operationId: 'metrics', tags: ['machines'], ...guarded },
    summary: 'Metrics in the text format of Prometheus',
    responses: {
      200: { description: 'Metrics.', content: { 'text/plain': { schema: z.string() } } },
      ...errors,
    },
  },
  {
    ...{ method: 'get', path: '/openapi.json', operationId: 'openapi', tags: ['machines'], ...guarded },
    summary: 'This document',
    responses: { 200: { description: 'OpenAPI 3.1.', content: json(jsonObject) }, ...errors },
  },
  {
    ...{ method: 'post', path: '/hooks/{name}', operationId: 'hook', tags: ['machines'], ...open },
    summary: 'Start the workflow whose webhook trigger has this name',
    description: 'Signed: HMAC-SHA256 of time stamp and body with the secret of the trigger.',
    request: { params: z.object({ name: z.string() }), ...body },
    responses: { 202: { description: 'It was taken.', content: json(jsonObject) }, ...errors },
  },
  {
    ...{ method: 'post', path: '/ag-ui', operationId: 'agUi', tags: ['front ends'], ...guarded },
    summary: 'AG-UI: runs an agent for a front end that speaks it',
    request: body,
    responses: { 200: { description: 'Events of AG-UI.', content: stream('Events of AG-UI.') }, ...errors },
  },
  {
    ...{ method: 'post', path: '/chat', operationId: 'chat', tags: ['front ends'], ...guarded },
    summary: 'The UI message stream of the AI SDK, for useChat',
    request: body,
    responses: {
      200: { description: 'A UI message stream.', content: stream('Parts of a message.') },
      ...errors,
    },
  },
  {
    ...{ method: 'post', path: '/v1/chat/completions', operationId: 'chatCompletions', tags: ['front ends'] },
    ...guarded,
    summary: "OpenAI's chat completions: each agent is a model",
    request: body,
    responses: {
      200: { description: 'A completion.', content: { ...json(jsonObject), ...stream('Chunks.') } },
      ...errors,
    },
  },
  {
    ...{ method: 'get', path: '/v1/models', operationId: 'models', tags: ['front ends'], ...guarded },
    summary: 'The agents as models',
    responses: { 200: { description: 'A list of models.', content: json(jsonObject) }, ...errors },
  },
];
