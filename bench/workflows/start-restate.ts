import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../telltale/test/servers/free-port.ts';
import { type GuardedServer, runGuarded } from '../../telltale/test/servers/run-guarded.ts';
import { PEERS } from '../agents/field.ts';

export interface RestateServer extends GuardedServer {
  readonly ingress: string;
  readonly admin: string;
}

/** The server that npm brings, on loopback, with its defaults: it answers once its log has an fsync behind it. */
export async function startRestate(): Promise<RestateServer> {
  const require = createRequire(join(PEERS, 'package.json'));
  const command = require.resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
  const folder = mkdtempSync(join(tmpdir(), 'telltale-restate-'));
  const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
  const server = await runGuarded({
    command,
    args: [
      '--base-dir',
      folder,
      '--listen-mode',
      'tcp',
      '--no-logo',
      '--log-filter',
      'info',
      '--bind-address',
      `127.0.0.1:${fabric}`,
      '--node-name',
      'bench',
    ],
    env: {
      PATH: process.env.PATH,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
    stopSignal: 'SIGTERM',
    folder,
    ready: /Admin API starting|roles \[.*\] were started/,
  });
  await reachable(`http://127.0.0.1:${admin}/health`);
  return { ...server, ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
}

const PATIENCE_MS = 20_000;
const PAUSE_MS = 50;

async function reachable(url: string): Promise<void> {
  for (const started = performance.now(); performance.now() - started < PATIENCE_MS; ) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw new Error(`Nothing answers at ${url}.`);
}
