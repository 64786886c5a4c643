import { describe, expect, it } from 'vitest';
import { openTimetable } from '../../src/engine/timetable.ts';

const MINUTE = 60_000;
const at = (text: string) => Date.parse(text);

describe('a timetable of every so often', () => {
  const every = (everyMs: number, from = 1_000) => openTimetable('s', { everyMs, from });

  it('begins with its beginning, and then counts from there, whenever it is asked', async () => {
    const { next } = await every(100);
    expect([0, 999, 1_000, 1_001, 1_099, 1_100].map(next)).toEqual([
      1_000, 1_000, 1_100, 1_100, 1_100, 1_200,
    ]);
  });

  it('tells what came due, the last with it and the first without, a hundred by name', async () => {
    const { between } = await every(100);
    expect(between(1_000, 1_300)).toEqual({ newest: [1_100, 1_200, 1_300], older: 0 });
    expect(between(1_000, 1_099)).toEqual({ newest: [], older: 0 });
    expect(between(0, 1_000)).toEqual({ newest: [1_000], older: 0 });
    const many = between(1_000, 1_000 + 150 * 100);
    expect([many.newest.length, many.newest[0], many.newest.at(-1), many.older]).toEqual([
      100,
      1_000 + 51 * 100,
      1_000 + 150 * 100,
      50,
    ]);
    expect(between(1_000, 1_000 + 5_000 * 100).older).toBe(900);
  });

  it.each([0, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY])('is not kept of %d ms', async (everyMs) => {
    await expect(every(everyMs)).rejects.toMatchObject({ code: 'schedule_malformed' });
    await expect(every(1, everyMs < 1 ? Number.NaN : everyMs)).rejects.toThrow('"s" cannot be kept');
  });

  it('is kept of a millisecond', async () => {
    expect((await every(1)).next(5_000)).toBe(5_001);
  });
});

describe('a timetable of cron', () => {
  const cron = (pattern: string, timezone = 'Etc/UTC') => openTimetable('s', { cron: pattern, timezone });

  it('tells what came due, the last with it and the first without', async () => {
    const { next, between } = await cron('*/10 * * * *');
    const noon = at('2026-01-01T12:00:00Z');
    expect(next(noon)).toBe(noon + 10 * MINUTE);
    expect(between(noon, noon + 9 * MINUTE)).toEqual({ newest: [], older: 0 });
    expect(between(noon, noon + 10 * MINUTE)).toEqual({ newest: [noon + 10 * MINUTE], older: 0 });
    expect(between(noon - 1, noon + 20 * MINUTE)).toEqual({
      newest: [noon, noon + 10 * MINUTE, noon + 20 * MINUTE],
      older: 0,
    });
    const day = between(noon, noon + 1_440 * MINUTE);
    expect([day.newest.length, day.newest.at(-1), day.older]).toEqual([100, noon + 1_440 * MINUTE, 44]);
  });

  it('goes by its time zone', async () => {
    const { next } = await cron('0 3 * * *', 'Europe/Zurich');
    expect(next(at('2026-07-01T00:00:00Z'))).toBe(at('2026-07-01T01:00:00Z'));
    expect(next(at('2026-01-01T00:00:00Z'))).toBe(at('2026-01-01T02:00:00Z'));
  });

  it('that never comes again has no next time', async () => {
    const { next, between } = await cron('0 0 31 2 *');
    expect(next(at('2026-01-01T00:00:00Z'))).toBeUndefined();
    expect(between(at('2026-01-01T00:00:00Z'), at('2026-06-01T00:00:00Z'))).toEqual({ newest: [], older: 0 });
  });

  it('is refused where it cannot be read, and where there is no such zone', async () => {
    await expect(cron('every day')).rejects.toMatchObject({ code: 'schedule_malformed' });
    await expect(cron('0 3 * * *', 'Europe/Atlantis')).rejects.toThrow('"0 3 * * *" in Europe/Atlantis');
  });
});
