import { statfs } from 'node:fs/promises';
import { cpus, freemem, loadavg, platform, totalmem, uptime } from 'node:os';
import type { Json } from '../../kernel/json.ts';
import { compileCheck } from '../check-parameters.ts';
import type { Target } from '../target.ts';
import type { TargetEdges } from '../target-edges.ts';

const PARAMETERS = { type: 'object', properties: {}, additionalProperties: false } as const;

/** How the machine fares. */
export function systemMonitor({ folder }: Pick<TargetEdges, 'folder'>): Target {
  return {
    kind: 'tool',
    name: 'system_monitor',
    description: "Load, memory, uptime of the machine, and room on the disk of the agent's folder.",
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(PARAMETERS, 'tool "system_monitor"'),
    async run() {
      const [one = 0, five = 0, fifteen = 0] = loadavg();
      return {
        platform: platform(),
        cpus: cpus().length,
        load: { one_minute: one, five_minutes: five, fifteen_minutes: fifteen },
        memory: { total_bytes: totalmem(), free_bytes: freemem() },
        disk: await disk(folder),
        uptime_seconds: Math.round(uptime()),
      };
    },
  };
}

/** Null on a file system that does not say. */
async function disk(folder: string): Promise<Json> {
  const stats = await statfs(folder).catch(() => undefined);
  if (stats === undefined) return null;
  return { total_bytes: stats.blocks * stats.bsize, free_bytes: stats.bavail * stats.bsize };
}
