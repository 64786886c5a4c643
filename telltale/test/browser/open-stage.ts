import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import type { Role } from '../../src/client/api.ts';
import type { TelltaleClient } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { createTokens } from '../../src/server/auth/tokens.ts';
import { createCatalog } from '../../src/server/catalog/agent-catalog.ts';
import { watchCatalog } from '../../src/server/catalog/watch-catalog.ts';
import { startDaemon } from '../../src/server/start-daemon.ts';

const WEB = fileURLToPath(new URL('../../web', import.meta.url));
/** Events that are written to the store at a time. */
const BATCH = 2_000;

export interface StageOptions {
  /** Files of the agents; those called `agent.yml` or `NAME.agent.yml` are served. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether manifests are reloaded when they change. */
  readonly dev?: boolean;
  /** An SQLite file that is there already, in place of a new one. */
  readonly store?: string;
}

export interface Stage {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly runtime: Runtime;
  readonly client: TelltaleClient;
  /** What the server could tell nobody. */
  readonly errors: readonly unknown[];
  token(name: string, role: Role): Promise<string>;
  /** The address of a page of the console, with an admin's token. */
  at(path: string): string;
  /** The same without a token. */
  without(path: string): string;
  /** Puts a log into the store, as if a session had written it. */
  write(events: readonly SessionEvent[]): Promise<void>;
  close(): Promise<void>;
}

/** The real server with the built console, on a runtime with an SQLite file. */
export async function openStage({ files, dev = false, store }: StageOptions): Promise<Stage> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-console-')));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const clock = createSystemClock();
  const errors: unknown[] = [];
  const onError = (thrown: unknown) => void errors.push(thrown);
  const env = { PATH: process.env.PATH };
  const runtime = await createRuntime({
    cwd: folder,
    env,
    clock,
    durability: 'process',
    store: `sqlite:${store ?? join(folder, 'store', 'telltale.db')}`,
  });
  const catalog = await createCatalog({
    find: async () =>
      Object.keys(files)
        .filter(isAgent)
        .map((name) => join(folder, name)),
    load: (path, name) => loadAgent(path, { cwd: folder, env, ...(name === undefined ? {} : { name }) }),
    now: () => clock.now(),
    cwd: folder,
  });
  const tokens = createTokens(runtime.store, clock);
  const daemon = await startDaemon({
    runtime,
    catalog,
    clock,
    env,
    dev,
    onError,
    startedBy: 'user:ana',
    version: '0.0.0',
    host: '127.0.0.1',
    port: 0,
    web: WEB,
    onNote: () => undefined,
  });
  const watching = dev ? watchCatalog(catalog, { roots: [folder], clock, onError }) : undefined;
  return {
    url: daemon.url,
    port: daemon.port,
    folder,
    runtime,
    errors,
    client: createClient({ url: daemon.url, token: daemon.token }),
    token: async (name, role) => (await tokens.create(name, role)).token,
    at: (path) => `${daemon.link}${path}`,
    without: (path) => `${daemon.url}/#${path}`,
    async write(events) {
      const [first] = events;
      const last = events.at(-1);
      if (first?.type !== 'session.started' || last === undefined) throw new Error('no log of a session');
      const { session, agent, input } = first;
      const writer = await runtime.store.create(session, {
        kind: 'session',
        name: agent,
        status: 'running',
        title: input,
      });
      for (let at = 0; at < events.length; at += BATCH) {
        const part = events.slice(at, at + BATCH);
        const isLast = at + BATCH >= events.length && last.type === 'session.completed';
        await new Promise<void>((resolve, reject) =>
          writer.append(
            {
              expectedSeq: at,
              events: part.map((event) => encodeEvent(event, bodyOf(event))),
              ...(isLast ? { status: 'completed' } : {}),
            },
            (error) => (error === undefined ? resolve() : reject(error)),
          ),
        );
      }
      await writer.release();
    },
    async close() {
      watching?.close();
      await daemon.close();
      await runtime.close();
      await catalog.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const isAgent = (name: string): boolean => /(^|[./])agent\.yml$/.test(name);

function bodyOf({ seq: _, at: _at, session: _session, turn: _turn, cause: _cause, ...body }: SessionEvent) {
  return body as Parameters<typeof encodeEvent>[1];
}
