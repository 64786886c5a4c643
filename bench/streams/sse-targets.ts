import { atLeast, atMost, type Verdict } from '../agents/verdict.ts';

export const OURS = 'telltale';
export const RAW = 'raw ServerResponse, 50 ms';
export const HONO = 'Hono 4, streamSSE';

/** Medians of one contestant. */
export interface Row {
  readonly name: string;
  readonly perSecond: number;
  /** Of one core, in percent. */
  readonly cpu: number;
  readonly usPerEvent: number;
  readonly p50: number;
  readonly p99: number;
  readonly rssMb: number;
}

/** Of what is asked for, a machine that is busy with other things delivers a little less in a given time. */
const DELIVERED = 0.97;

export function sseVerdicts(scene: string, rows: readonly Row[], asked: number): readonly Verdict[] {
  const of = (name: string) => rows.find((row) => row.name === name);
  const [ours, raw, hono] = [of(OURS), of(RAW), of(HONO)];
  if (ours === undefined || raw === undefined || hono === undefined)
    throw new Error('A contestant is missing.');
  return [
    atMost(`${scene}: CPU time at most 1.3 times raw`, ours.usPerEvent / raw.usPerEvent, 1.3, '×'),
    atLeast(`${scene}: Hono takes at least 4 times as long`, hono.usPerEvent / ours.usPerEvent, 4, '×'),
    atMost(`${scene}: at most 150 MB`, ours.rssMb, 150, 'MB'),
    {
      ...atMost(
        `${scene}: all of ${asked.toLocaleString('en-US')} events/s`,
        ours.perSecond,
        asked,
        'events/s',
      ),
      met: ours.perSecond >= asked * DELIVERED,
      decides: false,
    },
    atMost(`${scene}: at most 35 % of a core`, ours.cpu, 35, '%', false),
    atMost(`${scene}: p99 at most 80 ms`, ours.p99, 80, 'ms', false),
  ];
}
