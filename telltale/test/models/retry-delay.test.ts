import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import {
  MAX_MODEL_TRIES,
  nextDelay,
  readRetryAfter,
  retryAfterMs,
  withRetryAfter,
} from '../../src/models/retry.ts';

const again = new RuntimeError('model_overloaded', 'x', { retryable: true });
const never = new RuntimeError('model_bad_request', 'x');
const after = (ms: number) =>
  withRetryAfter(new RuntimeError('model_rate_limited', 'x', { retryable: true }), ms);
const almostOne = 1 - Number.EPSILON;

describe('the wait before a model is called again', () => {
  it('doubles from half a second', () => {
    const most = [1, 2, 3, 4, 5].map((failures) => Math.round(nextDelay(failures, again, almostOne) ?? -1));
    expect(most).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  it('may be anything below that: full jitter', () => {
    expect(nextDelay(3, again, 0)).toBe(0);
    expect(nextDelay(3, again, 0.5)).toBe(1000);
  });

  it('ends after six tries, and at once where trying again is of no use', () => {
    expect(nextDelay(5, again, 0.5)).toBeDefined();
    expect(nextDelay(6, again, 0.5)).toBeUndefined();
    expect(nextDelay(1, never, 0.5)).toBeUndefined();
  });

  it('is never shorter than what the provider asked for, up to five minutes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_MODEL_TRIES - 1 }),
        fc.integer({ min: 0, max: 10_000_000 }),
        fc.double({ min: 0, max: almostOne, noNaN: true }),
        (failures, asked, random) => {
          const delay = nextDelay(failures, after(asked), random);
          expect(delay).toBeGreaterThanOrEqual(Math.min(asked, 300_000));
          expect(delay).toBeLessThanOrEqual(Math.max(30_000, Math.min(asked, 300_000) + 500));
        },
      ),
    );
  });

  it('is spread where all are asked for the same wait', () => {
    expect(nextDelay(1, after(5000), 0)).toBe(5000);
    expect(nextDelay(1, after(5000), 0.5)).toBe(5250);
  });
});

describe('the time a provider asks for', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const now = Date.UTC(2026, 10, 6, 8, 49, 37);

  it('is read as milliseconds, seconds or an HTTP date', () => {
    expect(readRetryAfter({ 'retry-after-ms': '1500', 'retry-after': '9' }, now)).toBe(1500);
    expect(readRetryAfter({ 'retry-after': '2' }, now)).toBe(2000);
    expect(readRetryAfter({ 'retry-after': '0.25' }, now)).toBe(250);
    expect(readRetryAfter({ 'retry-after': 'Fri, 06 Nov 2026 08:49:47 GMT' }, now)).toBe(10_000);
  });

  it('is the same wherever the machine stands, with a date in any of the three forms', () => {
    vi.stubEnv('TZ', 'America/New_York');
    expect(new Date(now).getHours()).toBe(3);
    for (const date of [
      'Fri, 06 Nov 2026 08:49:47 GMT',
      'Friday, 06-Nov-26 08:49:47 GMT',
      'Fri Nov  6 08:49:47 2026',
    ])
      expect([date, readRetryAfter({ 'retry-after': date }, now)]).toEqual([date, 10_000]);
  });

  it('is nothing for a date that has passed', () => {
    expect(readRetryAfter({ 'retry-after': 'Fri, 06 Nov 2026 08:49:27 GMT' }, now)).toBe(0);
  });

  it('is not known where there is no header or nothing that can be read', () => {
    expect(readRetryAfter({}, now)).toBeUndefined();
    for (const text of ['', 'soon', '-1', 'NaN', '1e400', '99999'.repeat(100), 'x 10:00'])
      expect([text, readRetryAfter({ 'retry-after': text }, now)]).toEqual([text, undefined]);
  });

  it('is carried by the error, and read from nothing else', () => {
    expect(retryAfterMs(after(250))).toBe(250);
    expect(
      [again, undefined, null, 'x', { retryAfterMs: 'x' }, { retryAfterMs: -1 }].map(retryAfterMs),
    ).toEqual(Array(6).fill(undefined));
    expect(withRetryAfter(again, undefined)).toBe(again);
  });
});
