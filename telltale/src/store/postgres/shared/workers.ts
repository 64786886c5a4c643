import type { WorkerNote, WorkerRow } from '../../shared-store.ts';
import type { Ask } from '../ask.ts';
import { AGE_MS } from '../schema/stream-writes.ts';

/** Of a process that owns streams and has not said what it is. */
const UNSAID = { role: 'process', version: '', capacity: 0, working: 0 } as const;

/** Every process that owns streams, or did until a while ago; the oldest first. */
export async function readWorkers(ask: Ask, schema: string, leaseMs: number): Promise<readonly WorkerRow[]> {
  const { rows } = await ask(
    `SELECT w.id, w.pid, w.host, w.note, w.gone_at IS NOT NULL AS gone, ${AGE_MS} AS age,
      floor(extract(epoch FROM w.born_at) * 1000) AS started,
      (SELECT count(*) FROM "${schema}".heads h WHERE h.owner = w.id) AS holds
      FROM "${schema}".owners w ORDER BY w.id`,
  );
  return rows.map(({ id, pid, host, note, gone, age, started, holds }) => ({
    ...UNSAID,
    host,
    ...((note ?? {}) as Partial<WorkerNote>),
    id: Number(id),
    pid: Number(pid),
    holds: Number(holds),
    startedAt: Number(started),
    quietMs: Math.max(0, Math.round(Number(age))),
    alive: !gone && Number(age) <= leaseMs,
  }));
}
