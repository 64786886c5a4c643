import { describe, expect, it } from 'vitest';
import { beginsWithADay } from '../../src/lib/dates.ts';

describe('a day', () => {
  it.each(['2026-01-31', '2024-02-29', '2000-02-29', '0099-12-31', '2026-11-15T08:30:00Z'])(
    'is in the calendar: %s',
    (time) => expect(beginsWithADay(time)).toBe(true),
  );

  it.each([
    '2026-02-30',
    '2023-02-29',
    '1900-02-29T00:00Z',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    'x',
  ])('is not: %s', (time) => expect(beginsWithADay(time)).toBe(false));
});
