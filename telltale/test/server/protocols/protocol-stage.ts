import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import { defineTool } from '../../../src/agent/define/definitions.ts';
import type { LoadedAgent } from '../../../src/agent/loaded-agent.ts';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { suggest } from '../../../src/lib/nearest.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { ScriptTurn } from '../../../src/models/scripted/script.ts';
import { createAudit } from '../../../src/server/auth/audit.ts';
import { createTokens } from '../../../src/server/auth/tokens.ts';
import { createServer, type ServerOptions } from '../../../src/server/create-server.ts';
import { mountProtocols } from '../../../src/server/protocols/mount-protocols.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { scripted } from '../../../src/testing/scripted.ts';

export interface Stage {
  readonly url: string;
  /** Of the role `run`: clients of OpenAI's API cannot go without one. */
  readonly token: string;
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
  post(path: string, body: unknown): Promise<Response>;
  /** As a server does before it ends. */
  drain(): Promise<void>;
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
  seenAs: (runtime: Runtime) => Runtime = (runtime) => runtime,
): Promise<Stage> {
  const runtime = seenAs(await createRuntime({ store }));
  const models = new Map<string, ReturnType<typeof scripted>>();
  const agents = new Map<string, LoadedAgent<unknown>>();
  for (const [name, { turns, tokensPerSecond, ...rest }] of Object.entries(sketches)) {
    const model = scripted(turns, tokensPerSecond === undefined ? {} : { tokensPerSecond });
    models.set(name, model);
    agents.set(name, await defineAgent({ ...rest, name, model }));
  }
  const strays: unknown[] = [];
  const clock = createSystemClock();
  const catalog = {
    list: () => [...agents].map(([name, agent]) => ({ name, agent, loadedAt: 1_000, problems: [] })),
    find(name: string) {
      const agent = agents.get(name);
      if (agent === undefined)
        throw new RuntimeError('agent_unknown', `No agent is named "${name}".`, {
          hint: suggest(name, [...agents.keys()], 'Agents'),
        });
      return agent;
    },
  };
  const tokens = createTokens(store, clock);
  // A stage that is opened on the store of another finds names that are taken.
  const { length } = await tokens.list();
  const { token } = await tokens.create(`front-end-${length}`, 'run');
  const server = await createServer({
    runtime,
    clock,
    version: '0',
    dev: false,
    host: '127.0.0.1',
    port: 0,
    mounts: [mountProtocols],
    tokens,
    audit: createAudit(store),
    // Of these the front ends use nothing else.
    catalog: catalog as unknown as ServerOptions['catalog'],
    streams: { close: async () => undefined } as ServerOptions['streams'],
    notifications: {} as ServerOptions['notifications'],
    onError: (thrown: unknown) => strays.push(thrown),
  });
  return {
    url: server.url,
    token,
    runtime,
    store,
    strays,
    post: (path, body) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return fetch(server.url + path, {
        method: 'POST',
        body: text,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      });
    },
    prompt: (agent) => models.get(agent)?.prompts.at(-1) ?? '',
    events: (session) => runtime.events(session),
    async newest() {
      const [info] = await store.list({ kind: 'session', limit: 1 });
      return info?.stream ?? '';
    },
    status: async (session) => (await store.info(session))?.status,
    drain: () => server.drain(),
    async close() {
      await runtime.close();
      await server.close();
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
