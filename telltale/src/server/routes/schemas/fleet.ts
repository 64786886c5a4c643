import { z } from '@hono/zod-openapi';
import type { FleetInfo, LaidAsideInfo, WorkerInfo } from '../../../client/fleet-api.ts';
import { answered, count, text, time } from './wire.ts';

export const fleetInfo = answered<FleetInfo>('Fleet', {
  fleet: text,
  workers: z.array(
    answered<WorkerInfo>('Worker', {
      host: text,
      pid: count,
      role: text,
      version: text,
      url: text.optional(),
      capacity: count,
      working: count,
      holds: count,
      startedAt: time,
      quietMs: z.number(),
      alive: z.boolean(),
      draining: z.literal(true).optional(),
    }),
  ),
  queue: z.object({ waiting: count, taken: count, laidAside: count, lagMs: z.number() }),
  laidAside: z.array(
    answered<LaidAsideInfo>('LaidAside', {
      kind: z.enum(['session', 'run']),
      stream: text,
      at: time,
      code: text.optional(),
      why: text,
    }),
  ),
});
