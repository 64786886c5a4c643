import { resolve } from 'node:path';
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { FleetInfo, LaidAsideInfo, WorkerInfo } from '../../client/api.ts';
import { codeIn, type Fleet, type QuarantinedWork } from '../../cluster/fleet.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Memory } from '../../memory/memory.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { mountAgents } from './agents.ts';
import { mountArtifacts } from './artifacts.ts';
import { mountDaemon } from './daemon.ts';
import { addOperation, answerJson } from './operation.ts';
import { BESIDE } from './paths-beside.ts';
import { mountReviews } from './reviews.ts';
import { mountRuns } from './runs.ts';
import { memoryQuery } from './schemas/daemon.ts';
import { answered, byId, count, jsonObject, text, time, wholeNumber, whyChain } from './schemas/wire.ts';
import { mountSessionActions } from './session-actions.ts';
import { mountSessions } from './sessions.ts';
import { handOver } from './stream-reads.ts';
import { createSummaries, Quarantines } from './summaries.ts';

/**
 * Adds all JSON routes and their OpenAPI document to an app. The app has already authenticated the caller
 * (`c.get('caller')`), and answers errors that routes throw, which are always `RuntimeError`s.
 */
export function mountRoutes(app: OpenAPIHono<AppEnv>, edges: ServerDeps): void {
  const quarantines = new Quarantines(edges.runtime, edges.clock);
  const summaries = createSummaries(edges.runtime.store, quarantines);
  mountDaemon(app, edges);
  mountAgents(app, edges);
  mountSessions(app, edges, summaries, quarantines);
  mountSessionActions(app, edges, summaries);
  mountRuns(app, edges, summaries, quarantines);
  mountStreams(app, edges);
  mountReviews(app, edges);
  mountArtifacts(app, edges);
  mountMemory(app, edges);
  mountFleet(app, edges);
  mountOpenApi(app, edges);
}

/** `GET /openapi.json` describes these routes and those of other parts of the server. */
function mountOpenApi(app: OpenAPIHono<AppEnv>, { version }: ServerDeps): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token with a role: read, run or admin. Every request needs one, even on loopback. "telltale token create NAME --role run" creates one.',
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
            'Agents, their sessions and workflow runs: what they do, why, and how to control them.',
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

const tag = 'events';

/** Routes for any stream, and for all streams. */
function mountStreams(app: OpenAPIHono<AppEnv>, { runtime, streams, onError }: ServerDeps): void {
  addOperation(
    app,
    {
      method: 'get',
      path: '/streams/{stream}/events/{seq}/why',
      id: 'why',
      tag,
      role: 'read',
      summary: 'Why an event of a session or run happened',
      description: 'The events that led to it, across streams.',
      params: z.object({
        stream: z.string().openapi({ description: 'The id of a session or run.' }),
        seq: wholeNumber(Number.MAX_SAFE_INTEGER, 'Which of its events.', 1),
      }),
      answer: whyChain,
    },
    async ({ params: { stream, seq } }) => {
      const { events, lost } = await runtime.why(stream, seq);
      return { events, ...(lost === undefined ? {} : { lost: { stream: lost.stream, seq: lost.seq } }) };
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/events',
      id: 'followAll',
      tag,
      role: 'read',
      summary: 'What changes any list, as it happens: the headlines of all sessions and runs',
      stream: '`data` is an event of a session or run as JSON: one that summaries are folded from.',
    },
    ({ c }) => handOver(c, onError, streams.headlines),
  );
}

const fleetTag = 'fleet';

/** The processes that share the store. */
function mountFleet(app: OpenAPIHono<AppEnv>, { runtime }: ServerDeps): void {
  const mine = (): Fleet => {
    if (runtime.fleet === undefined) throw notShared(runtime.store.location);
    return runtime.fleet;
  };
  addOperation(
    app,
    {
      method: 'get',
      path: '/fleet',
      id: 'fleet',
      tag: fleetTag,
      role: 'read',
      answer: fleetInfo,
      summary: 'The workers of the fleet, what each holds, and what waits for one',
    },
    async () => {
      const { fleet, workers, queue, laidAside } = await mine().status();
      return {
        fleet,
        queue,
        workers: workers.map(({ id: _, ...worker }) => worker),
        laidAside: laidAside.map(shownAside),
      };
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/fleet/{id}/retry',
      id: 'retryStream',
      tag: fleetTag,
      role: 'admin',
      status: 202,
      summary: 'Retry a session or run that no worker could continue',
      params: byId,
    },
    async ({ c, params: { id } }) => {
      c.set('about', id);
      await mine().retry(id);
    },
  );
}

const shownAside = ({ kind, stream, at, why }: QuarantinedWork) => {
  const code = codeIn(why);
  return { kind, stream, at, ...(code === undefined ? {} : { code }), why };
};

const notShared = (location: string) =>
  new RuntimeError('not_shared', `${location} is a store of a single machine, so it has no fleet.`, {
    hint: 'Serve a PostgreSQL database to have one: telltale serve --store postgres://…',
  });

const fleetInfo = answered<FleetInfo>('Fleet', {
  fleet: text,
  workers: z.array(
    answered<WorkerInfo>('Worker', {
      host: text,
      pid: count,
      role: text,
      version: text,
      url: text.optional(),
      capacity: count,
      working: count,
      holds: count,
      startedAt: time,
      quietMs: z.number(),
      alive: z.boolean(),
      draining: z.literal(true).optional(),
    }),
  ),
  queue: z.object({ waiting: count, taken: count, laidAside: count, lagMs: z.number() }),
  laidAside: z.array(
    answered<LaidAsideInfo>('LaidAside', {
      kind: z.enum(['session', 'run']),
      stream: text,
      at: time,
      code: text.optional(),
      why: text,
    }),
  ),
});

const memoryTag = 'memory';

/** The knowledge graphs of agents. */
function mountMemory(app: OpenAPIHono<AppEnv>, { runtime, catalog }: ServerDeps): void {
  const open = async (name: string): Promise<Memory> => {
    const { manifest, folder } = catalog.find(name);
    const graph = manifest.memory?.graph;
    if (graph === undefined) throw noMemory(name);
    return runtime.memory(resolve(folder, graph));
  };
  addOperation(
    app,
    {
      method: 'post',
      path: '/memory/query',
      id: 'queryMemory',
      tag: memoryTag,
      role: 'run',
      summary: 'Ask the graph of an agent',
      description: 'By `query` (words), `symbol` or `path`: one of them.',
      body: memoryQuery,
      answer: jsonObject,
    },
    async ({ body: { agent, ...query } }) => {
      const asked = [query.query, query.symbol, query.path].filter((each) => each !== undefined);
      if (asked.length !== 1) throw notOneQuestion(asked.length);
      return (await (await open(agent)).query(query)) as unknown as JsonObject;
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/memory/stats',
      id: 'memoryStats',
      tag: memoryTag,
      role: 'read',
      summary: 'What the graph of an agent holds',
      query: z.object({ agent: z.string().min(1) }),
      answer: jsonObject,
    },
    async ({ query: { agent } }) => {
      const memory = await open(agent);
      return {
        folder: memory.folder,
        graph: memory.graph,
        ...(await memory.stats()),
      } as unknown as JsonObject;
    },
  );
}

const noMemory = (agent: string) =>
  new RuntimeError('no_memory', `The agent "${agent}" has no knowledge graph.`, {
    hint: 'Give it one: "memory: { graph: . }" in its manifest.',
  });

const notOneQuestion = (asked: number) =>
  new RuntimeError(
    'bad_request',
    asked === 0 ? 'Nothing to search for was given.' : 'Only one search at a time is possible.',
    { hint: 'Give "query", "symbol" or "path": one of them.' },
  );
