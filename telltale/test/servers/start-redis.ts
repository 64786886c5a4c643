import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { type GuardedServer, runGuarded } from './run-guarded.ts';

export interface RedisServer extends GuardedServer {
  readonly url: string;
  readonly port: number;
}

export interface RedisOptions {
  /** A free one if absent. */
  readonly port?: number;
  readonly password?: string;
}

/** A Redis of one's own on loopback, which keeps nothing. Starts within a tenth of a second. */
export async function startRedis({ port, password }: RedisOptions = {}): Promise<RedisServer> {
  const command = findProgram('redis-server');
  if (command === undefined) throw new Error('redis-server is not installed.');
  const chosen = port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), 'telltale-redis-'));
  const options = {
    port: chosen,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'no',
    ...(password === undefined ? {} : { requirepass: password }),
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = await runGuarded({
    command,
    args,
    stopSignal: 'SIGTERM',
    folder,
    ready: /Ready to accept connections/,
  });
  const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  return { ...server, port: chosen, url: `redis://${login}127.0.0.1:${chosen}` };
}
