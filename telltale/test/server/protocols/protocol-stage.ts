import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { SessionEvent } from '../../../src/events/event.ts';
import { createSystemClock } from '../../../src/kernel/clock.ts';
import { suggest } from '../../../src/kernel/nearest.ts';
import { RuntimeError, toRuntimeError } from '../../../src/kernel/runtime-error.ts';
import type { ScriptTurn } from '../../../src/models/scripted/script.ts';
import { mountProtocols } from '../../../src/server/protocols/mount-protocols.ts';
import type { AppEnv, ServerEdges } from '../../../src/server/server-edges.ts';
import { createRuntime } from '../../../src/session/create-runtime.ts';
import { defineAgent } from '../../../src/session/define/define-agent.ts';
import { defineTool } from '../../../src/session/define/define-tool.ts';
import type { LoadedAgent } from '../../../src/session/loaded-agent.ts';
import type { Runtime } from '../../../src/session/runtime-types.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { scripted } from '../../../src/testing/scripted.ts';

export interface Stage {
  readonly url: string;
  readonly runtime: Runtime;
  readonly store: Store;
  /** What nobody could be told of. */
  readonly strays: readonly unknown[];
  /** The last prompt that the agent's model was given. */
  prompt(agent: string): string;
  events(session: string): Promise<readonly SessionEvent[]>;
  /** The only session there is, or the newest. */
  newest(): Promise<string>;
  status(session: string): Promise<string | undefined>;
  /** Open ones. */
  connections(): Promise<number>;
  /** As a server does before it ends. */
  closing(): void;
  close(): Promise<void>;
}

type AgentSketch = Omit<Parameters<typeof defineAgent>[0], 'name' | 'model'> & {
  readonly turns: readonly (string | ScriptTurn)[];
  readonly tokensPerSecond?: number;
};

/** A server with nothing but the front ends: real HTTP, a real runtime, models that say what they are told. */
export async function openStage(
  sketches: Readonly<Record<string, AgentSketch>>,
  store: Store = createMemoryStore({ clock: createSystemClock() }),
): Promise<Stage> {
  const runtime = await createRuntime({ store });
  const models = new Map<string, ReturnType<typeof scripted>>();
  const agents = new Map<string, LoadedAgent<unknown>>();
  for (const [name, { turns, tokensPerSecond, ...rest }] of Object.entries(sketches)) {
    const model = scripted(turns, tokensPerSecond === undefined ? {} : { tokensPerSecond });
    models.set(name, model);
    agents.set(name, await defineAgent({ ...rest, name, model }));
  }
  const ending = new AbortController();
  const strays: unknown[] = [];
  const edges = {
    ...{ runtime, clock: createSystemClock(), version: '0', dev: false, closing: ending.signal },
    catalog: {
      list: () => [...agents].map(([name, agent]) => ({ name, agent, loadedAt: 1_000, problems: [] })),
      find(name: string) {
        const agent = agents.get(name);
        if (agent === undefined)
          throw new RuntimeError('agent_unknown', `No agent is named "${name}".`, {
            hint: suggest(name, [...agents.keys()], 'Agents'),
          });
        return agent;
      },
    },
    onError: (thrown: unknown) => strays.push(thrown),
  } as unknown as ServerEdges; // the front ends use no other edges
  const app = new Hono<AppEnv>();
  app.onError((thrown, c) => {
    const error = toRuntimeError(thrown);
    const status =
      { bad_request: 400, agent_unknown: 404, thread_busy: 409, review_answered: 409 }[error.code] ?? 500;
    return c.json({ error: error.toJSON() }, status as ContentfulStatusCode);
  });
  mountProtocols(app, edges);
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, runtime, store, strays },
    prompt: (agent) => models.get(agent)?.prompts.at(-1) ?? '',
    events: (session) => runtime.events(session),
    async newest() {
      const [info] = await store.list({ kind: 'session', limit: 1 });
      return info?.stream ?? '';
    },
    status: async (session) => (await store.info(session))?.status,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    closing: () => ending.abort(),
    async close() {
      ending.abort();
      await runtime.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const final = (text: string): string => `<response final="true">${text}</response>`;
export const interim = (text: string): string => `<response final="false">${text}</response>`;
export const call = (id: string, name: string, parameters: object = {}, mode = 'async'): string =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name, parameters })}</action>`;

/** A tool that gives back what it is given. */
export const echo = defineTool({ name: 'echo', run: (parameters) => parameters as object });
/** A tool that fails. */
export const broken = defineTool({
  name: 'broken',
  run: () => {
    throw new Error('No disk.');
  },
});
/** A tool that waits until it is aborted. */
export const endless = defineTool({
  name: 'endless',
  run: (_, { signal }) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
});
/** A tool that a person has to approve. */
export const guarded = defineTool({ name: 'deploy', approval: 'always', run: () => 'deployed' });

/** A tool that ends when it is told to. */
export function gate(name: string) {
  const waiting: ((value: string) => void)[] = [];
  let opened: string | undefined;
  return {
    tool: defineTool({
      name,
      run: () => (opened === undefined ? new Promise<string>((resolve) => waiting.push(resolve)) : opened),
    }),
    open(value: string) {
      opened = value;
      for (const each of waiting.splice(0)) each(value);
    },
  };
}
