import { statfs } from 'node:fs/promises';
import { cpus, freemem, loadavg, platform, totalmem, uptime } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json, JsonObject } from '../../lib/json.ts';
import { compileCheck } from '../check-parameters.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';

const METRICS = ['cpu', 'memory', 'load', 'disk', 'uptime'] as const;
type MonitoredMetric = (typeof METRICS)[number];

const PARAMETERS = {
  type: 'object',
  properties: {
    metrics: {
      type: 'array',
      items: { enum: METRICS },
      minItems: 1,
      maxItems: 20,
      description: 'Only these, in short (default: all in detail).',
    },
  },
  additionalProperties: false,
} as const;

/** Reports the load of the machine. */
export function systemMonitor({ folder, clock }: Pick<TargetDeps, 'folder' | 'clock'>): Target {
  const cpu = createCpuMeter();
  const measured = async (metric: MonitoredMetric): Promise<Json> => {
    switch (metric) {
      case 'cpu':
        return cpu.percent();
      case 'memory':
        return memoryPercent();
      case 'load':
        return load();
      case 'disk': {
        const { total_bytes: total, free_bytes: free } = (await disk(folder)) ?? {};
        return typeof total !== 'number' || total === 0 ? null : percent(total - Number(free), total);
      }
      case 'uptime':
        return Math.round(uptime());
    }
  };
  return {
    kind: 'tool',
    name: 'system_monitor',
    description: 'Shows CPU, memory, load, free disk space and uptime of the machine.',
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(PARAMETERS, 'tool "system_monitor"'),
    async run({ input }) {
      const wanted = input.metrics as readonly MonitoredMetric[] | undefined;
      if (wanted !== undefined) {
        const entries = await Promise.all(
          [...new Set(wanted)].map(async (metric) => [metric, await measured(metric)] as const),
        );
        return { ...Object.fromEntries(entries), timestamp: new Date(clock.now()).toISOString() };
      }
      return {
        platform: platform(),
        cpus: cpus().length,
        cpu_percent: await cpu.percent(),
        load: load(),
        memory: { total_bytes: totalmem(), free_bytes: freemem(), used_percent: memoryPercent() },
        disk: (await disk(folder)) ?? null,
        uptime_seconds: Math.round(uptime()),
      };
    },
  };
}

/** Shorter intervals mean nothing, because the system counts in hundredths of a second. */
const LEAST_MS = 100;

/** How busy the processors were since the last call. The first call measures a short interval. */
function createCpuMeter() {
  let before: CpuTimes | undefined;
  let last: number | null = null;
  let measuring: Promise<number | null> | undefined;
  const measure = async (): Promise<number | null> => {
    if (before === undefined) {
      before = cpuTimes();
      await pause(LEAST_MS);
    }
    const now = cpuTimes();
    if (now.at - before.at < LEAST_MS / 2 && last !== null) return last;
    const total = now.total - before.total;
    last = total <= 0 ? last : percent(now.busy - before.busy, total);
    before = now;
    return last;
  };
  return {
    percent(): Promise<number | null> {
      measuring ??= measure().finally(() => {
        measuring = undefined;
      });
      return measuring;
    },
  };
}

interface CpuTimes {
  readonly at: number;
  readonly busy: number;
  readonly total: number;
}

function cpuTimes(): CpuTimes {
  let busy = 0;
  let total = 0;
  for (const { times } of cpus()) {
    const working = times.user + times.nice + times.sys + times.irq;
    busy += working;
    total += working + times.idle;
  }
  return { at: performance.now(), busy, total };
}

function load(): JsonObject {
  const [one = 0, five = 0, fifteen = 0] = loadavg();
  return { one_minute: one, five_minutes: five, fifteen_minutes: fifteen };
}

const memoryPercent = (): number => percent(totalmem() - freemem(), totalmem());

/** A percentage from 0 to 100, with one decimal. */
const percent = (part: number, whole: number): number =>
  Math.round(Math.min(1, Math.max(0, part / whole)) * 1_000) / 10;

/** Undefined if the file system does not report its size. */
async function disk(folder: string): Promise<JsonObject | undefined> {
  const stats = await statfs(folder).catch(() => undefined);
  if (stats === undefined) return undefined;
  return { total_bytes: stats.blocks * stats.bsize, free_bytes: stats.bavail * stats.bsize };
}
