import { describe, expect, it } from 'vitest';
import { exitCode } from '../../../bench/agents/verdict.ts';
import { HONO, OURS, RAW, type Row, sseVerdicts } from '../../../bench/streams/sse-targets.ts';

const row = (name: string, usPerEvent: number, more: Partial<Row> = {}): Row => ({
  name,
  usPerEvent,
  perSecond: 100_000,
  cpu: 30,
  p50: 25,
  p99: 55,
  rssMb: 140,
  ...more,
});

const judged = (ours: Partial<Row> = {}, hono = 30) =>
  exitCode(
    sseVerdicts('a scene', [row(RAW, 3), { ...row(OURS, 3), ...ours }, row(HONO, hono)], 100_000),
    false,
  );

describe('streams to clients', () => {
  it('may cost 1.3 times what raw responses do, and 150 MB', () => {
    expect(judged({ usPerEvent: 3.9, rssMb: 150 })).toBe(0);
    expect(judged({ usPerEvent: 3.91 })).toBe(1);
    expect(judged({ rssMb: 151 })).toBe(1);
  });

  it('cost a fourth of a framework’s at the most', () => {
    expect(judged({}, 12)).toBe(0);
    expect(judged({}, 11.9)).toBe(1);
  });

  it('are not judged by delays, which are the machine’s as well', () => {
    expect(judged({ p99: 500, cpu: 60, perSecond: 90_000 })).toBe(0);
  });
});
