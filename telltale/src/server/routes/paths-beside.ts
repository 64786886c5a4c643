import { type RouteConfig, z } from '@hono/zod-openapi';
import type { Role } from '../../client/api.ts';
import { health, readiness } from './schemas/daemon.ts';
import { ERROR_ANSWERS as errors, jsonObject, openAiError } from './schemas/wire.ts';

const json = (schema: z.ZodType) => ({ 'application/json': { schema } });
const stream = (description: string) => ({
  'text/event-stream': { schema: z.string().openapi({ description }) },
});
const body = { body: { required: true, content: json(jsonObject) } };
const open = { security: [] };
const guarded = { security: [{ bearer: [] }, {}] };
const needs = (role: Role, said = '') => ({
  description: `${said === '' ? '' : `${said} `}Needs the role \`${role}\`.`,
});

/**
 * Errors of a `/v1` handler have OpenAI's format. Errors from before a handler is called have ours. The routes can
 * return both.
 */
const openAiErrors = {
  '4XX': { description: errors['4XX'].description, content: json(openAiError) },
  '5XX': { description: errors['5XX'].description, content: json(openAiError) },
} as const;

/** The same route for the only agent, and for the one named in the path. */
const ofAgent = (
  path: string,
  describe: (path: string, id: string, params: { readonly params?: z.ZodObject }) => RouteConfig,
): readonly RouteConfig[] => {
  const id = path.slice(1).replace(/-(\w)/, (_, letter: string) => letter.toUpperCase());
  return [
    describe(path, id, {}),
    describe(`${path}/{agent}`, `${id}OfAgent`, { params: z.object({ agent: z.string() }) }),
  ];
};

const CHAT_STREAMS = [
  { path: '/chat/{id}/stream', operationId: 'chatStream', params: ['id'] },
  { path: '/chat/{agent}/{id}/stream', operationId: 'chatStreamOfAgent', params: ['agent', 'id'] },
];

/** Routes of other parts of the server, for the document. */
export const BESIDE: readonly RouteConfig[] = [
  {
    method: 'get',
    path: '/healthz',
    operationId: 'health',
    tags: ['machines'],
    ...open,
    summary: 'Whether the process answers',
    responses: { 200: { description: 'It does.', content: json(health) }, ...errors },
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'ready',
    tags: ['machines'],
    ...open,
    summary: 'Whether work is taken',
    responses: {
      200: { description: 'It is.', content: json(readiness) },
      503: { description: 'Not yet, or not any more.', content: json(readiness) },
      '4XX': errors['4XX'],
    },
  },
  {
    method: 'get',
    path: '/metrics',
    operationId: 'metrics',
    tags: ['machines'],
    ...guarded,
    ...needs('read'),
    summary: 'Metrics in the text format of Prometheus',
    responses: {
      200: { description: 'Metrics.', content: { 'text/plain': { schema: z.string() } } },
      ...errors,
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    operationId: 'openapi',
    tags: ['machines'],
    ...guarded,
    ...needs('read'),
    summary: 'This document',
    responses: { 200: { description: 'OpenAPI 3.1.', content: json(jsonObject) }, ...errors },
  },
  {
    method: 'post',
    path: '/hooks/{name}',
    operationId: 'hook',
    tags: ['machines'],
    ...open,
    summary: 'Start the workflow whose webhook trigger has this name',
    description:
      'Signed: HMAC-SHA256 of time stamp and body with the secret of the trigger. The body may be of any type.',
    request: {
      params: z.object({ name: z.string() }),
      body: { required: true, content: { '*/*': { schema: z.string() } } },
    },
    responses: {
      200: { description: 'It came before, and nothing was started.', content: json(jsonObject) },
      202: { description: 'It was taken.', content: json(jsonObject) },
      ...errors,
    },
  },
  ...ofAgent('/ag-ui', (path, operationId, params) => ({
    method: 'post',
    path,
    operationId,
    tags: ['front ends'],
    ...guarded,
    ...needs('run'),
    summary: 'AG-UI: runs an agent for a front end that speaks it',
    request: { ...params, ...body },
    responses: { 200: { description: 'Events of AG-UI.', content: stream('Events of AG-UI.') }, ...errors },
  })),
  ...ofAgent('/chat', (path, operationId, params) => ({
    method: 'post',
    path,
    operationId,
    tags: ['front ends'],
    ...guarded,
    ...needs('run'),
    summary: 'The UI message stream of the AI SDK, for useChat',
    request: { ...params, ...body },
    responses: {
      200: { description: 'A UI message stream.', content: stream('Parts of a message.') },
      ...errors,
    },
  })),
  ...CHAT_STREAMS.map(
    ({ path, operationId, params }): RouteConfig => ({
      method: 'get',
      path,
      operationId,
      tags: ['front ends'],
      ...guarded,
      ...needs('read'),
      summary: 'The answer in progress, for a page that was reloaded',
      request: { params: z.object(Object.fromEntries(params.map((name) => [name, z.string()]))) },
      responses: {
        200: { description: 'The rest of a UI message stream.', content: stream('Parts of a message.') },
        204: { description: 'No answer is in progress.' },
        ...errors,
      },
    }),
  ),
  {
    method: 'post',
    path: '/v1/chat/completions',
    operationId: 'chatCompletions',
    tags: ['front ends'],
    ...guarded,
    ...needs('run'),
    summary: "OpenAI's chat completions: each agent is a model",
    request: body,
    responses: {
      200: { description: 'A completion.', content: { ...json(jsonObject), ...stream('Chunks.') } },
      ...openAiErrors,
    },
  },
  {
    method: 'get',
    path: '/v1/models',
    operationId: 'models',
    tags: ['front ends'],
    ...guarded,
    ...needs('read'),
    summary: 'The agents as models',
    responses: { 200: { description: 'A list of models.', content: json(jsonObject) }, ...openAiErrors },
  },
  {
    method: 'get',
    path: '/v1/models/{model}',
    operationId: 'model',
    tags: ['front ends'],
    ...guarded,
    ...needs('read'),
    summary: 'An agent as a model',
    request: { params: z.object({ model: z.string() }) },
    responses: { 200: { description: 'A model.', content: json(jsonObject) }, ...openAiErrors },
  },
];
