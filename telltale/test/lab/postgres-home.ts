import { startPostgres } from '../servers/start-postgres.ts';
import { type FaultProxy, openFaultProxy, type Silence } from './fault-proxy.ts';
import { type LabHome, sleepMs } from './lab-home.ts';
import { LAB_LEASE_MS } from './open-lab-store.ts';
import type { Fault } from './plan-faults.ts';

/** About ten a process, and those of whoever looks on. */
const CONNECTIONS = 120;
const SILENCES: readonly Silence[] = ['asking', 'answers', 'both'];

/** A PostgreSQL of its own, and a line to it for each worker. */
export async function openPostgresHome(workers: number): Promise<LabHome> {
  const server = await startPostgres({ connections: CONNECTIONS });
  const proxies = await Promise.all(Array.from({ length: workers }, () => openFaultProxy(server.port)));
  const url = new URL(server.url);
  return {
    kind: 'postgres',
    leaseMs: LAB_LEASE_MS,
    without: [],
    direct: url.href,
    urlFor(worker) {
      const through = new URL(url);
      through.port = String(proxies[worker]?.port);
      return through.href;
    },
    async harm(fault) {
      const proxy = proxies[fault.worker];
      if (proxy !== undefined && (await harmLine(proxy, fault))) return;
      if (fault.kind === 'database-fast') await server.restart('SIGINT');
      if (fault.kind === 'database-immediate') await server.restart('SIGQUIT');
    },
    async close() {
      for (const proxy of proxies) await proxy.close();
      await server.stop();
    },
  };
}

/** Whether it was one of the line's. */
async function harmLine(proxy: FaultProxy, { kind, ms, detail }: Fault): Promise<boolean> {
  if (kind === 'cut-one') proxy.cutOne(Math.floor(detail * 1_000));
  else if (kind === 'cut-all') proxy.cutAll();
  else if (kind === 'refuse') proxy.refuse();
  else if (kind === 'half-open') proxy.silence(SILENCES[Math.floor(detail * SILENCES.length)] ?? 'both');
  else if (kind === 'delay') proxy.slow({ ms: Math.round(10 + detail * 140) });
  else if (kind === 'trickle') proxy.slow({ ms: 2, bytes: 150 });
  else return false;
  await sleepMs(ms);
  proxy.calm();
  return true;
}
