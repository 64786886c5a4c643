import { resolve } from 'node:path';
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Memory } from '../../memory/memory.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation } from './operation.ts';
import { memoryQuery } from './schemas/daemon.ts';
import { jsonObject } from './schemas/wire.ts';

const tag = 'memory';

/** The knowledge graphs of agents. */
export function mountMemory(app: OpenAPIHono<AppEnv>, { runtime, catalog }: ServerDeps): void {
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
      tag,
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
      tag,
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
