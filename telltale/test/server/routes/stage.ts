import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import type { NotificationInfo } from '../../../src/client/api.ts';
import type { TelltaleClient } from '../../../src/client/client.ts';
import { createClient } from '../../../src/client/create-client.ts';
import type { Fleet } from '../../../src/cluster/fleet.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { createAudit } from '../../../src/server/auth/audit.ts';
import { createTokens, withStartToken } from '../../../src/server/auth/tokens.ts';
import { createCatalog } from '../../../src/server/catalog/agent-catalog.ts';
import { createServer, type Server } from '../../../src/server/create-server.ts';
import type { Notifications } from '../../../src/server/notify/create-notifications.ts';
import { mountProtocols } from '../../../src/server/protocols/mount-protocols.ts';
import { mountRoutes } from '../../../src/server/routes/mount-routes.ts';
import { mountHooks } from '../../../src/server/start-daemon.ts';
import { createStreams } from '../../../src/server/stream/create-streams.ts';
import { agentFolder, tool } from '../../agent/run-agent.ts';
import { createFitCheck, type FitCheck } from './fit-check.ts';

const WORKS = `turns:
  - |
    <metadata>{"status":"CODING"}</metadata>
    <thought>I write it down.</thought>
    <response>Done.</response>
`;

const ASKS = `turns:
  - |
    <action id="d">{"name":"deploy","parameters":{"to":"test"}}</action>
    <response>Deployed: $d</response>
  - |
    <response>It was not to be.</response>
`;

/** Nothing comes of it while a test looks. */
const SLOW = `tokens_per_second: 1\n${WORKS}${WORKS.slice('turns:\n'.length).repeat(3)}`;

const CHATS = `turns:
${['One.', 'Two.', 'Three.'].map((said) => `  - |\n    <response>${said}</response>\n`).join('')}`;

const metadata = 'metadata: { fields: { status: { type: enum, values: [IDLE, CODING], default: IDLE } } }\n';
const agent = (name: string, turns: string, more = '') =>
  `kind: Agent\nname: ${name}\nmodel: scripted:./${turns}\n${metadata}${more}`;

const FILES = {
  'worker.yml': agent(
    'worker',
    'works.yml',
    'description: Works.\nexamples: [Write it down.]\nmodels: { quick: "scripted:./chats.yml" }\nmemory: { graph: ./code }\n',
  ),
  'slow.yml': agent('slow', 'slow-turns.yml'),
  'asker.yml': agent(
    'asker',
    'asks.yml',
    'permissions: { sandbox: "off" }\nimport: { tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"] }\n',
  ),
  'talker.yml': agent('talker', 'chats.yml'),
  'led.yml': agent('led', 'works.yml', 'workflow: lead\nimport: { workflows: ["./lead.yml"] }\n'),
  'lead.yml': `kind: Workflow
name: lead
steps:
  - { name: note, type: set_metadata, values: { status: CODING } }
  - { name: sure, type: approval, prompt: "Sure?", options: [go, stop] }
`,
  'broken.yml': 'kind: Agent\nname: broken\nmodle: x\n',
  'works.yml': WORKS,
  'slow-turns.yml': SLOW,
  'asks.yml': ASKS,
  'chats.yml': CHATS,
  'code/add.ts': 'export function add(a: number, b: number) {\n  return a + b;\n}\n',
  'nap.flow.yml': `kind: Workflow
name: nap
description: Sleeps.
input: { type: object, properties: { hours: { type: number } }, required: [hours] }
triggers:
  - { type: manual }
  - { type: webhook, hook: wake, secret: very-secret }
steps:
  - { name: sleep, type: wait, event: custom, match: { name: morning } }
`,
  'ask.flow.yml': `kind: Workflow
name: ask
trigger: { type: manual }
steps:
  - { name: sure, type: approval, prompt: "Sure?", options: [ship, hold] }
`,
  ...tool('deploy', 'return `to ${input.to}`;', 'approval: always\n'),
};

export interface Stage {
  readonly folder: string;
  readonly runtime: Runtime;
  readonly server: Server;
  readonly client: TelltaleClient;
  readonly errors: readonly unknown[];
  readonly fit: FitCheck;
  /** Every route that there is. */
  readonly served: readonly { readonly method: string; readonly path: string }[];
  /** A client with a token of that role, of that name. */
  as(name: string, role: 'read' | 'run' | 'admin'): Promise<TelltaleClient>;
  /** A token of that role. */
  token(role: 'read' | 'run' | 'admin'): Promise<string>;
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** What the runtime says that it belongs to: nothing, unless a test puts it there. */
  readonly joined: { fleet?: Fleet };
  close(): Promise<void>;
}

/** A server on loopback with all routes, a runtime on an SQLite file, and agents that speak as they were told. */
export async function openStage(): Promise<Stage> {
  const folder = agentFolder('', FILES);
  const clock = createSystemClock();
  const errors: unknown[] = [];
  const onError = (thrown: unknown) => errors.push(thrown);
  const env = { PATH: process.env.PATH };
  const joined: Stage['joined'] = {};
  const opened = await createRuntime({
    cwd: folder,
    env,
    clock,
    durability: 'process',
    store: `sqlite:${join(mkdtempSync(join(tmpdir(), 'telltale-routes-')), 'store.db')}`,
  });
  const runtime: Runtime = {
    ...opened,
    get fleet() {
      return joined.fleet as Fleet; // undefined is no fleet
    },
  };
  const names = ['worker', 'slow', 'asker', 'talker', 'led', 'broken'];
  const catalog = await createCatalog({
    find: async () => names.map((name) => join(folder, `${name}.yml`)),
    load: (path, name) => loadAgent(path, { cwd: folder, env, ...(name === undefined ? {} : { name }) }),
    now: () => clock.now(),
    cwd: folder,
  });
  const { tokens, token } = withStartToken(createTokens(runtime.store, clock), 'user:stage');
  const served: { readonly method: string; readonly path: string }[] = [];
  const server = await createServer({
    runtime,
    catalog,
    tokens,
    clock,
    onError,
    version: '1.2.3',
    dev: true,
    host: '127.0.0.1',
    port: 0,
    streams: createStreams({ runtime, clock, onError }),
    audit: createAudit(runtime.store),
    notifications: fewNotifications(),
    mounts: [
      mountRoutes,
      mountProtocols,
      mountHooks({ deliver: async () => ({ kind: 'waiting' }) }),
      (app) => served.push(...app.routes.filter(({ method }) => method !== 'ALL')),
    ],
    metrics: () => '',
  });
  const fit = await createFitCheck(server.url);
  const clientWith = (own: string) => createClient({ url: server.url, fetch: fit.fetch, token: own });
  /** A name stands for one token: the same one is used again. */
  const made = new Map<string, string>();
  const tokenOf = async (name: string, role: 'read' | 'run' | 'admin'): Promise<string> => {
    const known = made.get(`${name} ${role}`);
    if (known !== undefined && (await tokens.check(known)) !== undefined) return known;
    const { token: fresh } = await tokens.create(name, role);
    made.set(`${name} ${role}`, fresh);
    return fresh;
  };
  return {
    folder,
    runtime,
    server,
    errors,
    fit,
    served,
    joined,
    client: clientWith(token),
    token: (role) => tokenOf(`any-${role}`, role),
    as: async (name, role) => clientWith(await tokenOf(name, role)),
    ask: (path, init) => {
      const headers = new Headers(init?.headers);
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
      // No header at all is asked for with an empty one.
      if (headers.get('authorization') === '') headers.delete('authorization');
      return fetch(`${server.url}${path}`, { ...init, headers });
    },
    async close() {
      await server.close();
      await runtime.close();
    },
  };
}

function fewNotifications(): Notifications {
  const all = Array.from(
    { length: 3 },
    (_, index): NotificationInfo => ({
      id: `ntf_${index}`,
      at: index,
      channel: 'ops',
      kind: 'webhook',
      agent: 'worker',
      about: 'session.failed',
      message: 'It failed.',
      status: 'dead',
      attempts: 5,
    }),
  ).reverse();
  return {
    observe: () => undefined,
    async list({ status, before, limit }) {
      const from = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1;
      return all
        .slice(from)
        .filter((each) => status === undefined || each.status === status)
        .slice(0, limit);
    },
    async retry(id) {
      const found = all.find((each) => each.id === id);
      if (found === undefined) throw new RuntimeError('notification_unknown', `No notification is ${id}.`);
      return { ...found, status: 'waiting' };
    },
    close: async () => undefined,
  };
}
