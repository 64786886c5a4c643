import { describe, expect, it } from 'vitest';
import type { Feed, FeedEntry, KeptValue } from '../../src/feeds/feed.ts';
import { isDue, isFresh, isReferable, isResting, isUsable, shownTokens } from '../../src/feeds/feed.ts';
import { backOffMs, intervalOf } from '../../src/feeds/feed-loads.ts';
import { createEntry, decideEnabled, readEnabled } from '../../src/feeds/feed-table.ts';
import { decideNews } from '../../src/feeds/say-news.ts';
import type { FeedState } from '../../src/log/feed-event.ts';
import { every, failing, feed } from './feed-bench.ts';

const MOMENT = { turn: 5, now: 100_000, monotonic: 50_000 };
const value = (more: Partial<KeptValue> = {}): KeptValue =>
  ({ value: 'v', tokens: 1, loadedAt: 99_000, turn: 5, ...more }) as KeptValue;
const row = (more: object = {}): FeedEntry['row'] => ({
  error: failing('down'),
  times: 1,
  retryAt: 60_000,
  noted: undefined,
  told: [],
  ...more,
});
const entry = (more: Partial<Feed> = {}, known: Partial<FeedEntry> = {}): FeedEntry => ({
  ...createEntry(feed('a', more), 'manifest', undefined, undefined),
  ...known,
});

describe('enabled', () => {
  it.each(['', '  ', '0', 'false', 'FALSE', 'no'])('%j is off for good', (enabled) => {
    expect(readEnabled({ enabled })).toEqual({ enabled: false });
  });

  it.each(['1', 'true', ' True ', 'yes'])('%j is on for good', (enabled) => {
    expect(readEnabled({ enabled })).toEqual({ enabled: true });
  });

  it('is off until its test was decided, and where that cannot be', () => {
    const { enabled, test } = readEnabled({ enabled: 'metadata.a == 1' });
    expect(enabled).toBe(false);
    if (test === undefined) throw new Error('there is a test');
    expect(decideEnabled(test, { metadata: { a: 1 } })).toEqual({ enabled: true });
    expect(decideEnabled(test, { metadata: { a: 2 } })).toEqual({ enabled: false });
    expect(decideEnabled(test, { metadata: {} })).toMatchObject({
      enabled: false,
      error: { message: expect.stringMatching(/^"enabled": ./), retryable: false },
    });
  });

  it('that cannot be read is off, and says why', () => {
    const read = readEnabled({ enabled: 'metadata.a ==' });
    expect(read).toMatchObject({
      enabled: false,
      error: { message: expect.stringMatching(/^"enabled": ./) },
    });
    expect(read).not.toHaveProperty('test');
  });
});

describe('a feed that fails', () => {
  const waits = (of: Feed, random = 0) => [1, 2, 3, 50].map((times) => backOffMs(of, times, random));

  it('is left alone for a second, then twice as long each time, up to five minutes', () => {
    expect(waits(feed('a'))).toEqual([1_000, 2_000, 4_000, 240_000]);
    expect(waits(feed('a'), 1)).toEqual([1_250, 2_500, 5_000, 300_000]);
    expect(backOffMs(feed('a'), 0, 0)).toBe(1_000);
  });

  it('by intervals is left alone for one, up to ten', () => {
    expect(waits(feed('a', every(3_000)))).toEqual([3_000, 6_000, 12_000, 24_000]);
    expect(waits(feed('a', every(3_000)), 1)).toEqual([3_750, 7_500, 15_000, 30_000]);
  });

  it('has an interval of a second if it names none, and never a shorter one than a tenth', () => {
    expect(intervalOf(feed('a', { type: 'periodic' }))).toBe(1_000);
    expect(intervalOf(feed('a', every(1)))).toBe(100);
    expect(intervalOf(feed('a', every(100)))).toBe(100);
  });
});

describe('what a turn may show', () => {
  it('is a quarter of a small window, and never more than 32,000 tokens', () => {
    expect([undefined, 8_001, 128_000, 1_000_000].map(shownTokens)).toEqual([32_000, 2_000, 32_000, 32_000]);
  });
});

describe('a value', () => {
  it('counts throughout its turn, and for cache_ttl from when its source gave it', () => {
    const aged = (ttl: number | undefined, loadedAt: number, turn = 4) =>
      isFresh(
        entry(ttl === undefined ? {} : { cache_ttl: { ms: ttl } }, { value: value({ loadedAt, turn }) }),
        MOMENT,
      );
    expect(aged(undefined, 0, 5)).toBe(true);
    expect(aged(undefined, 99_999)).toBe(false);
    expect(aged(1_000, 99_001)).toBe(true);
    expect(aged(1_000, 99_000)).toBe(false);
    expect(aged(1_000, 100_000)).toBe(true);
    expect(aged(1_000, 100_001)).toBe(false); // from the future
    expect(isFresh(entry(), MOMENT)).toBe(false);
  });

  it('of an on-demand feed is loaded before a turn, unless it counts, comes, or failed just now', () => {
    expect(isDue(entry(), MOMENT)).toBe(true);
    expect(isDue(entry(every(1_000)), MOMENT)).toBe(false);
    expect(isDue(entry({}, { value: value() }), MOMENT)).toBe(false);
    expect(isDue(entry({}, { load: {} as never }), MOMENT)).toBe(false);
    expect(isDue(entry({}, { row: row() }), MOMENT)).toBe(false);
    expect(isDue(entry({}, { row: row({ retryAt: 50_000 }) }), MOMENT)).toBe(true);
    expect(isResting(entry({}, { row: row({ retryAt: 50_001 }) }), MOMENT)).toBe(true);
  });

  it('can be named while it counts, and where an old one may stand', () => {
    const old = { value: value({ turn: 1, loadedAt: 0 }) };
    expect(isUsable(entry({}, old), MOMENT)).toBe(false);
    expect(isUsable(entry({}, { ...old, row: row() }), MOMENT)).toBe(true);
    expect(isUsable(entry({ on_error: 'show' }, { ...old, row: row() }), MOMENT)).toBe(false);
    expect(isUsable(entry({}, { ...old, row: row({ retryAt: 0 }) }), MOMENT)).toBe(false);
    expect(isUsable(entry(every(1_000), old), MOMENT)).toBe(true);
    expect(isUsable(entry(every(1_000), { ...old, row: row() }), MOMENT)).toBe(true);
    expect(isUsable(entry(every(1_000, { on_error: 'omit' }), { ...old, row: row() }), MOMENT)).toBe(false);
    expect(isUsable(entry({}, { row: row() }), MOMENT)).toBe(false);
  });

  it('of a feed that fails makes no other', () => {
    const old = { value: value({ turn: 1, loadedAt: 0 }) };
    expect(isReferable(entry(every(1_000), old), MOMENT)).toBe(true);
    expect(isReferable(entry(every(1_000), { ...old, row: row() }), MOMENT)).toBe(false);
    expect(isReferable(entry(every(1_000)), MOMENT)).toBe(false);
    expect(isReferable(entry({}, { ...old, row: row() }), MOMENT)).toBe(false);
    expect(isReferable(entry({}, { value: value() }), MOMENT)).toBe(true);
  });
});

describe('what is said of a feed before a turn', () => {
  const shown = (of: unknown, turn = 4): FeedState =>
    ({
      last: { value: of, tokens: 1, loadedAt: 0 },
      shown: { turn, news: { kind: 'value', id: 'a', value: of } },
    }) as unknown as FeedState;
  const failed = {
    last: { value: 'v' },
    shown: { turn: 4, news: { kind: 'failed' } },
  } as unknown as FeedState;
  const news = (one: FeedEntry, logged?: FeedState, injected = true) =>
    decideNews(one, logged, MOMENT, injected);
  const fresh = { value: value(), unseen: true };
  const TOLD = { kind: 'value', told: true };
  const NOTED = { kind: 'value', told: false };

  it('on_change: a value that is not what was last shown, or that comes after a failure', () => {
    expect(news(entry({}, fresh), shown('old'))).toEqual(TOLD);
    expect(news(entry({}, fresh), shown('v'))).toBeUndefined();
    expect(news(entry({}, { ...fresh, unseen: false }), shown('old'))).toBeUndefined();
    expect(news(entry({}, fresh), failed)).toEqual(TOLD);
    expect(news(entry({}, fresh))).toEqual(TOLD);
  });

  it('each_turn: once a turn, and again in it where it changed', () => {
    const each = entry({ inject: 'each_turn' }, fresh);
    expect(news(each, shown('v', 4))).toEqual(TOLD);
    expect(news(each, shown('v', 5))).toBeUndefined();
    expect(news(each, shown('old', 5))).toEqual(TOLD);
  });

  it('start: once; reference: never, but the log has what was loaded', () => {
    expect(news(entry({ inject: 'start' }, fresh))).toEqual(TOLD);
    expect(news(entry({ inject: 'start' }, { ...fresh, started: true }), shown('v'))).toBeUndefined();
    const named = entry({ inject: 'reference' }, fresh);
    expect(news(named, undefined, false)).toEqual(NOTED);
    expect(news(named, shown('v'), false)).toBeUndefined();
    expect(news(named, shown('old'), false)).toEqual(NOTED);
  });

  it('nothing of an on-demand value whose turn is over; of a periodic feed the last one, however old', () => {
    const old = { value: value({ turn: 1, loadedAt: 0 }), unseen: true };
    expect(news(entry({}, old))).toBeUndefined();
    expect(news(entry({}, old), undefined, false)).toBeUndefined();
    expect(news(entry(every(1_000), old))).toEqual(TOLD);
  });

  it('a failure as on_error says: stale once a row, show each code once, omit never', () => {
    const said = (on_error: Feed['on_error'], more: object = {}) =>
      news(entry({ on_error }, { row: row(more) }));
    const TELLS = { kind: 'failed', told: true };
    const LOGS = { kind: 'failed', told: false };
    expect(said('stale')).toEqual(TELLS);
    expect(said('stale', { noted: 'other' })).toEqual(LOGS);
    expect(said('show', { noted: 'other', told: ['other'] })).toEqual(TELLS);
    expect(said('show', { noted: 'other', told: ['other', 'down'] })).toEqual(LOGS);
    expect(said('omit')).toEqual(LOGS);
    for (const on_error of ['stale', 'show', 'omit'] as const)
      expect(said(on_error, { noted: 'down' })).toBeUndefined();
  });

  it('a failure of one that is not shown only where it was named', () => {
    const one = { row: row() };
    expect(news(entry({ inject: 'reference' }, one), undefined, false)).toEqual({
      kind: 'failed',
      told: false,
    });
    const named = entry({ inject: 'reference' }, { ...one, asked: true });
    expect(news(named, undefined, false)).toEqual({ kind: 'failed', told: true });
  });

  it('a value that came before a failure goes first, if it is another than was shown', () => {
    const both = { ...fresh, row: row() };
    expect(news(entry({}, both), shown('old'))).toEqual(TOLD);
    expect(news(entry({}, both), shown('v'))).toMatchObject({ kind: 'failed' });
    expect(news(entry({}, { ...both, unseen: false }), failed)).toMatchObject({ kind: 'failed' });
  });

  it('that it is late, once, and not where it is not shown', () => {
    const load = { late: true, noted: false } as never;
    expect(news(entry({}, { load }))).toEqual({ kind: 'late', told: true });
    expect(news(entry({ on_error: 'omit' }, { load }))).toEqual({ kind: 'late', told: false });
    expect(news(entry({}, { load: { late: true, noted: true } as never }))).toBeUndefined();
    expect(news(entry({}, { load: { late: false, noted: false } as never }))).toBeUndefined();
    expect(news(entry({}, { load }), undefined, false)).toBeUndefined();
    expect(news(entry(every(1_000)))).toEqual({ kind: 'late', told: true });
    expect(news(entry(every(1_000), { lateNoted: true }))).toBeUndefined();
  });
});
