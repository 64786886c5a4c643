import { cpus } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { agentTargets } from './agent-targets.ts';

const given = () =>
  agentTargets({
    agent: 'import: { tools: ["builtin:clock", "builtin:system_monitor"] }',
    options: { clock: createSimulatedClock(Date.UTC(2026, 6, 1, 22, 30)) },
  });

test('the time is told in UTC, or in a zone', async () => {
  const { call } = await given();
  expect(await call('clock')).toEqual({
    iso: '2026-07-01T22:30:00+00:00',
    utc: '2026-07-01T22:30:00.000Z',
    unix_ms: Date.UTC(2026, 6, 1, 22, 30),
    time_zone: 'UTC',
    weekday: 'Wednesday',
  });
  expect(await call('clock', { operation: 'now', time_zone: 'Asia/Kolkata' })).toMatchObject({
    iso: '2026-07-02T04:00:00+05:30',
    weekday: 'Thursday',
  });
});

test('a time zone that is misspelt is named', async () => {
  const { failure } = await given();
  const error = await failure('clock', { time_zone: 'Europe/Berln' });
  expect(error.code).toBe('bad_parameters');
  expect(error.hint).toContain('Europe/Berlin');
});

test('the time between two moments is counted, and what has no zone is UTC', async () => {
  const { call, failure } = await given();
  expect(
    await call('clock', { operation: 'difference', from: '2026-07-01', to: '2026-07-03T01:02:03.5' }),
  ).toEqual({
    ms: 176_523_500,
    seconds: 176_523.5,
    days: 176_523_500 / 86_400_000,
    text: '2 d 1 h 2 min 3.5 s',
  });
  expect(await call('clock', { operation: 'difference', from: '2026-07-01T23:30:00+01:00' })).toMatchObject({
    ms: 0,
    text: '0 s',
  });
  expect(await call('clock', { operation: 'difference', from: '2026-07-01T22:31:00Z' })).toMatchObject({
    text: '-1 min',
  });
  expect((await failure('clock', { operation: 'difference', from: 'yesterday' })).message).toContain(
    '"/from"',
  );
  expect((await failure('clock', { operation: 'difference' })).message).toContain('"from" is missing');
});

test('a day that no calendar has is no moment', async () => {
  const { failure } = await given();
  for (const from of ['2026-02-30', '2026-02-30T12:00:00Z', '2026-13-01'])
    expect((await failure('clock', { operation: 'difference', from })).code).toBe('bad_parameters');
});

test('what has no zone is UTC wherever the machine stands', async () => {
  vi.stubEnv('TZ', 'Asia/Kolkata');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { call } = await given();
  for (const from of ['2026-07-01 21:30', '2026-07-01T21:30:00'])
    expect(await call('clock', { operation: 'difference', from })).toMatchObject({ ms: 3_600_000 });
  expect(await call('clock', { operation: 'difference', from: '2026-07-01' })).toMatchObject({
    ms: 81_000_000,
  });
});

test('the clock may be read again after a crash, and so may the machine', async () => {
  const { tool } = await given();
  expect(tool('clock').idempotentFor?.({})).toBe(true);
  expect(tool('clock').idempotentFor?.({ operation: 'difference' })).toBe(true);
  expect(tool('system_monitor').idempotent).toBe(true);
});

test('the machine says how it fares', async () => {
  const { call } = await given();
  const result = (await call('system_monitor')) as Record<string, Record<string, number>>;
  expect(result.memory?.total_bytes).toBeGreaterThan(0);
  expect(result.disk?.free_bytes).toBeGreaterThan(0);
  expect(result.load).toHaveProperty('one_minute');
  expect(result.uptime_seconds).toBeGreaterThan(0);
  expect(result.cpu_percent).toBeGreaterThanOrEqual(0);
  expect(result.memory?.used_percent).toBeGreaterThan(0);
});

test('of the machine those figures can be had that are wanted, use in percent', async () => {
  const { call, failure } = await given();
  const some = (await call('system_monitor', { metrics: ['cpu', 'memory', 'disk'] })) as Record<
    string,
    number
  >;
  expect(Object.keys(some)).toEqual(['cpu', 'memory', 'disk', 'timestamp']);
  expect(some.timestamp).toBe('2026-07-01T22:30:00.000Z');
  for (const name of ['cpu', 'memory', 'disk']) {
    expect(some[name]).toBeGreaterThanOrEqual(0);
    expect(some[name]).toBeLessThanOrEqual(100);
  }
  expect(await call('system_monitor', { metrics: ['load', 'uptime'] })).toMatchObject({
    load: { one_minute: expect.any(Number) },
    uptime: expect.any(Number),
  });
  expect((await failure('system_monitor', { metrics: ['gpu'] })).hint).toContain('cpu');
});

test('a busy processor shows', async () => {
  const { call } = await given();
  const cpu = async () => ((await call('system_monitor', { metrics: ['cpu'] })) as { cpu: number }).cpu;
  await cpu();
  const until = performance.now() + 150;
  while (performance.now() < until);
  // This thread alone keeps one of them busy; half of that, in case others want it, too.
  expect(await cpu()).toBeGreaterThan(50 / cpus().length);
});
