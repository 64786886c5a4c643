import type { OpenAPIHono } from '@hono/zod-openapi';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { answerJson } from './operation.ts';
import { BESIDE } from './paths-beside.ts';

/** `GET /openapi.json`: what the routes say of themselves, and what others serve beside them. */
export function mountOpenApi(app: OpenAPIHono<AppEnv>, { version }: ServerDeps): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token with a role: read, run or admin. Every request needs one, also on loopback. "telltale token create NAME --role run" makes one.',
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
