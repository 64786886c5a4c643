import { describe, expect, it } from 'vitest';
import { sourceText } from '../../src/feeds/create-keeper.ts';
import type { Feed, FeedSource } from '../../src/feeds/feed.ts';
import { comesFrom } from '../../src/feeds/feed-table.ts';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { benchOf, every, failing, feed, inShort, params } from './feed-bench.ts';

const never = new AbortController().signal;

describe('the list of feeds', () => {
  it.each([
    [{ type: 'tool', name: 'git_log' }, 'tool "git_log"'],
    [{ type: 'relic', name: 'log', action: 'query' }, 'relic "log" query'],
    [{ type: 'internal', action: 'system_clock' }, 'internal system_clock'],
    [{ type: 'metadata' }, 'metadata'],
    [{ type: 'http', name: 'https://api.example/v1/x' }, 'http "https://api.example/v1/x"'],
    [{ type: 'http', name: 'https://api.example/x?key=s3cret' }, 'http "https://api.example/x?…"'],
    [{ type: 'http', name: 'https://ann:s3cret@api.example/x#s3cret' }, 'http "https://api.example/x"'],
    [{ type: 'http', name: '$place/s3cret' }, 'http "…"'],
  ])('shows the source %j as %s', (source, text) => {
    expect(sourceText({ params: {}, ...source } as unknown as FeedSource)).toBe(text);
  });

  it('shows what each is, how old its value is and why it has none', async () => {
    const bench = benchOf([
      feed('a'),
      feed('b', every(1_000, { enabled: 'false', inject: 'reference' })),
      feed('c', { enabled: 'metadata.x == 1' }),
      feed('d', { on_error: 'omit' }),
    ]);
    bench.give('a', 'value');
    bench.give('d', failing('down'));
    await bench.turn();
    await bench.clock.advance(700);
    expect(bench.keeper.list()).toEqual([
      {
        id: 'a',
        type: 'on_demand',
        source: 'tool "a"',
        inject: 'on_change',
        enabled: true,
        by: 'manifest',
        tokens: 7,
        ageMs: 700,
      },
      {
        id: 'b',
        type: 'periodic',
        source: 'tool "b"',
        inject: 'reference',
        enabled: false,
        by: 'manifest',
        intervalMs: 1_000,
      },
      expect.objectContaining({
        id: 'c',
        enabled: false,
        error: expect.objectContaining({ message: expect.stringMatching(/^"enabled": /) }),
      }),
      expect.objectContaining({ id: 'd', enabled: true, error: failing('down').toJSON() }),
    ]);
    bench.keeper.add(feed('e'), {}, 'model');
    expect(bench.keeper.list().at(-1)).toMatchObject({ id: 'e', by: 'model' });
  });

  it('shows no age below zero where the clock of the machine is set back', async () => {
    const time = createSimulatedClock();
    let setBackMs = 0;
    const clock = { ...time, now: () => time.now() - setBackMs };
    const bench = benchOf([feed('a')], { clock });
    bench.give('a', 1);
    await bench.turn();
    setBackMs = 60_000;
    expect(bench.keeper.list()).toMatchObject([{ ageMs: 0 }]);
    expect(await bench.keeper.read('a', false, never)).toMatchObject({ value: 1, ageMs: 0 });
  });
});

describe('a value that was cut', () => {
  it('says by how much: on the log, to whoever reads it and to other sessions', async () => {
    const more: Partial<Feed> = { cache_scope: 'agent', cache_ttl: { ms: 10_000 } };
    const bench = benchOf([feed('a', more)], {
      prepare: async () => ({ value: 'cut', tokens: 2, truncated: 40 }),
    });
    bench.give('a', 'a long text');
    await bench.turn();
    expect(bench.events()).toMatchObject([{ type: 'feed.updated', value: 'cut', tokens: 2, truncated: 40 }]);
    expect(await bench.keeper.read('a', false, never)).toMatchObject({ truncated: 40 });
    expect([...bench.shared.values()]).toMatchObject([{ value: 'cut', tokens: 2, truncated: 40 }]);
  });

  it('and one that was not say nothing of it', async () => {
    const bench = benchOf([feed('a')]);
    bench.give('a', 1);
    await bench.turn();
    for (const one of [bench.events()[0], await bench.keeper.read('a', false, never)])
      expect(one).not.toHaveProperty('truncated');
  });
});

describe('what the log knows of a feed', () => {
  it('a row of failures goes on after a restart: it is counted on, and tried at once', async () => {
    const first = benchOf([feed('a')]);
    first.give('a', failing('down'));
    await first.turn();
    await first.clock.advance(1_000);
    await first.turn();
    const second = benchOf([feed('a', { on_error: 'show' })], { log: first.log, clock: first.clock });
    second.keeper.begin();
    expect(second.keeper.list()).toMatchObject([{ error: { code: 'down', message: 'It is down.' } }]);
    second.give('a', failing('worse'));
    const before = second.log.length;
    expect(inShort(await second.turn())).toEqual(['a!worse']);
    expect(second.events(before)).toMatchObject([{ type: 'feed.failed', times: 2 }]);
  });

  it('that it was late, or had no room, is no failure of its source', async () => {
    for (const code of ['feed_late', 'feed_no_room']) {
      const bench = benchOf([feed('a')]);
      bench.append({
        type: 'feed.failed',
        id: 'a',
        times: 1,
        told: true,
        error: { code, message: 'Not shown.', retryable: true },
      });
      const again = benchOf([feed('a')], { log: bench.log });
      again.keeper.begin();
      expect(again.keeper.list()[0]).not.toHaveProperty('error');
    }
  });
});

describe('params', () => {
  it('have what they refer to in them; what nobody knows stays as it is written', async () => {
    const lookup = (name: string) => (name === 'user' ? { name: 'ann' } : undefined);
    const asked = { who: '$user.name', part: '$user.gone', price: '$5' };
    const bench = benchOf([feed('a', params('a', asked))], { lookup });
    bench.give('a', 1);
    await bench.turn();
    expect(bench.calls).toMatchObject([{ params: { ...asked, who: 'ann' } }]);
  });

  it('that cannot be filled in fail the feed, and ask no source', async () => {
    let deep: Json = '$x';
    for (let level = 0; level < 70; level++) deep = [deep];
    const bench = benchOf([feed('a', params('a', { deep }))]);
    bench.give('a', 1);
    const [news] = await bench.turn();
    expect(news).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('"a"') } });
    expect(bench.callsOf('a')).toBe(0);
  });
});

describe('what a feed is made of', () => {
  const feeds = new Map(
    [
      feed('a', params('a', { x: '$b' })),
      feed('b', { refs: ['c'] }),
      feed('c', params('c', { x: 'of {{d}}' })),
      feed('lone'),
      feed('round', { refs: ['round'] }),
    ].map((each) => [each.id, each]),
  );

  it('is found through any number of references, and round in a circle', () => {
    const from = (id: string, ...origins: readonly string[]) => comesFrom(id, new Set(origins), feeds);
    expect(from('a', 'a')).toBe(true);
    expect(from('a', 'c')).toBe(true);
    expect(from('a', 'd')).toBe(true);
    expect(from('lone', 'd')).toBe(false);
    expect(from('round', 'd')).toBe(false);
    expect(from('gone', 'd')).toBe(false);
  });
});
