import { describe, expect, it } from 'vitest';
import type { Feed } from '../../src/feeds/feed.ts';
import { MAX_ADDED_FEEDS, MAX_LOADS } from '../../src/feeds/feed.ts';
import { createLoadSlots } from '../../src/feeds/feed-loads.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { benchOf, every, failing, feed, inShort, params } from './feed-bench.ts';

const never = new AbortController().signal;

describe('what a turn shows', () => {
  it('a value is shown when it changed, and an unchanged one adds nothing to the log', async () => {
    const bench = benchOf([feed('a')]);
    bench.give('a', { x: 1, y: [2] });
    expect(inShort(await bench.turn())).toEqual(['a={"x":1,"y":[2]}']);
    const before = bench.log.length;
    bench.give('a', { y: [2], x: 1 });
    expect(await bench.turn()).toEqual([]);
    expect(bench.events(before)).toEqual([]);
    bench.give('a', { x: 2 });
    expect(inShort(await bench.turn())).toEqual(['a={"x":2}']);
    expect(bench.callsOf('a')).toBe(3);
  });

  it('each_turn is shown in every turn, start once, reference never', async () => {
    const bench = benchOf([
      feed('each', { inject: 'each_turn', cache_ttl: { ms: 60_000 } }),
      feed('start', { inject: 'start' }),
      feed('reference', { inject: 'reference' }),
    ]);
    for (const id of ['each', 'start', 'reference']) bench.give(id, id);
    expect(inShort(await bench.turn())).toEqual(['each="each"', 'start="start"']);
    bench.give('start', 'other');
    expect(inShort(await bench.turn())).toEqual(['each="each"']);
    expect(bench.callsOf('each')).toBe(1);
    expect(bench.callsOf('start')).toBe(1);
    expect(bench.callsOf('reference')).toBe(0);
    expect(bench.events().map((event) => 'cached' in event && event.cached)).toEqual([false, false, true]);
  });

  it('a start feed that was shown before a restart is not loaded again', async () => {
    const first = benchOf([feed('start', { inject: 'start' })]);
    first.give('start', 1);
    await first.turn();
    const second = benchOf([feed('start', { inject: 'start' })], { log: first.log });
    second.keeper.begin();
    second.give('start', 2);
    expect(await second.turn()).toEqual([]);
    expect(second.callsOf('start')).toBe(0);
  });

  it('a value is cached for cache_ttl from when its source gave it, over a restart, too', async () => {
    const feeds = [feed('a', { cache_ttl: { ms: 10_000 } })];
    const first = benchOf(feeds);
    first.giveAfter('a', 1_000, 1);
    await first.turn(1_000);
    const second = benchOf(feeds, { log: first.log, clock: first.clock });
    second.keeper.begin();
    second.give('a', 2);
    await first.clock.advance(9_999);
    expect(second.keeper.beforeTurn()).toBeUndefined();
    expect(await second.turn()).toEqual([]);
    expect(second.callsOf('a')).toBe(0);
    await first.clock.advance(1);
    expect(inShort(await second.turn())).toEqual(['a=2']);
  });

  it('a value without cache_ttl counts for nothing after a restart', async () => {
    const first = benchOf([feed('a')]);
    first.give('a', 1);
    await first.keeper.beforeTurn();
    const second = benchOf([feed('a')], { log: first.log });
    second.keeper.begin();
    second.give('a', 2);
    expect(inShort(await second.turn())).toEqual(['a=2']);
  });

  it('what has no room in a turn is told once, can be read, and is shown once there is room', async () => {
    const big = (id: string) => feed(id, { cache_ttl: { ms: 1e9 } });
    const tokens = new Map([
      ['a', 20_000],
      ['b', 12_001],
      ['c', 12_000],
    ]);
    const bench = benchOf([big('a'), big('b'), big('c')], {
      prepare: async ({ id }, value) => ({ value, tokens: tokens.get(id) ?? 0 }),
    });
    for (const id of tokens.keys()) bench.give(id, id);
    expect(inShort(await bench.turn())).toEqual(['a="a"', 'b!feed_no_room', 'c="c"']);
    expect(inShort(await bench.turn())).toEqual(['b="b"']);
    bench.keeper.update('a', { ...big('a'), inject: 'each_turn' }, {}, 'model');
    bench.keeper.update('b', { ...big('b'), inject: 'each_turn' }, {}, 'model');
    expect(inShort(await bench.turn())).toEqual(['a="a"', 'b!feed_no_room']);
    const before = bench.log.length;
    expect(inShort(await bench.turn())).toEqual(['a="a"']);
    expect(bench.events(before)).toHaveLength(1);
    expect((await bench.keeper.read('b', false, never)).value).toBe('b');
  });
});

describe('the deadline', () => {
  it('loads run side by side, and what is late is told once, goes on, and comes with the next turn', async () => {
    const bench = benchOf([feed('slow'), feed('quick'), feed('soon')]);
    bench.giveAfter('slow', 12_000, 'slow');
    bench.giveAfter('soon', 4_000, 'soon');
    bench.give('quick', 'quick');
    expect(inShort(await bench.turn(5_000))).toEqual(['slow!feed_late', 'quick="quick"', 'soon="soon"']);
    bench.give('soon', 'soon');
    expect(await bench.turn()).toEqual([]);
    await bench.clock.advance(7_000);
    expect(inShort(await bench.turn())).toEqual(['slow="slow"']);
    expect(bench.callsOf('slow')).toBe(1);
    expect(bench.state.feeds.get('slow')?.failing).toBeUndefined();
  });

  it('a load that is late is not waited for again', async () => {
    const bench = benchOf([feed('slow')]);
    await bench.turn(5_000);
    expect(bench.keeper.beforeTurn()).toBeUndefined();
  });

  it('a late load that came to what was shown before is told, so that the model knows it is fresh', async () => {
    const bench = benchOf([feed('a')]);
    bench.give('a', 1);
    await bench.turn();
    bench.giveAfter('a', 6_000, 1);
    expect(inShort(await bench.turn(5_000))).toEqual(['a!feed_late']);
    await bench.clock.advance(1_000);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
  });

  it('one that comes right behind the deadline is not loaded again, and a start feed that was late is shown', async () => {
    const bench = benchOf([feed('a', { inject: 'start' })]);
    bench.giveAfter('a', 5_001, 1);
    const waiting = bench.keeper.beforeTurn();
    await bench.clock.advance(5_000);
    await waiting;
    await bench.clock.advance(1);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
    expect(await bench.turn()).toEqual([]);
    expect(bench.callsOf('a')).toBe(1);
    expect(bench.clock.pending).toBe(0);
  });

  it('a load has a time limit of its own and has then failed', async () => {
    const bench = benchOf([feed('a')], { loadTimeoutMs: 8_000 });
    expect(inShort(await bench.turn(5_000))).toEqual(['a!feed_late']);
    await bench.clock.advance(3_000);
    expect(bench.calls[0]?.signal.aborted).toBe(true);
    expect(inShort(await bench.turn())).toEqual(['a!timeout']);
  });

  it('never are more than the limit asked at once, and all are asked in the end', async () => {
    const feeds = Array.from({ length: 3 * MAX_LOADS }, (_, i) => feed(`f${i}`));
    const bench = benchOf(feeds);
    let now = 0;
    let most = 0;
    for (const { id } of feeds)
      bench.source(id, async () => {
        most = Math.max(most, ++now);
        await new Promise<void>((resolve) => void bench.clock.after(10, resolve));
        now--;
        return id;
      });
    expect(await bench.turn(100)).toHaveLength(feeds.length);
    expect(most).toBe(MAX_LOADS);
  });

  it('whoever leaves the queue leaves no gap in it', async () => {
    const slots = createLoadSlots(1);
    const giveBack = await slots.take(never);
    const leaver = new AbortController();
    const left = slots.take(leaver.signal);
    const next = slots.take(never);
    leaver.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    giveBack();
    (await next)();
    await slots.take(never);
  });

  it('with omit not even lateness is told, and the log still has it', async () => {
    const bench = benchOf([feed('a', { on_error: 'omit' })]);
    expect(await bench.turn(5_000)).toEqual([]);
    expect(bench.events()).toMatchObject([{ type: 'feed.failed', error: { code: 'feed_late' } }]);
  });
});

describe('periodic feeds', () => {
  it('are loaded every interval beside the turns, which use the last value with its age and never wait', async () => {
    const bench = benchOf([feed('p', every(10_000))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(3_000);
    expect(bench.keeper.beforeTurn()).toBeUndefined();
    expect(await bench.turn()).toMatchObject([{ kind: 'value', value: 1, ageMs: 3_000 }]);
    bench.give('p', 2);
    await bench.clock.advance(40_000);
    expect(bench.callsOf('p')).toBe(5);
    expect(bench.events()).toHaveLength(1);
    expect(await bench.turn()).toMatchObject([{ kind: 'value', value: 2 }]);
  });

  it('a load that takes longer than the interval is not begun twice', async () => {
    const bench = benchOf([feed('p', every(1_000))]);
    bench.giveAfter('p', 3_500, 1);
    bench.keeper.begin();
    await bench.clock.advance(10_000);
    expect(bench.callsOf('p')).toBe(3);
  });

  it('one without a value yet is told once as late, over a restart, too', async () => {
    const bench = benchOf([feed('p', every(10_000))]);
    bench.giveAfter('p', 2_000, 1);
    bench.keeper.begin();
    expect(await bench.turn()).toMatchObject([
      { kind: 'failed', error: { code: 'feed_late', message: 'No value yet.' } },
    ]);
    expect(await bench.turn()).toEqual([]);
    const second = benchOf([feed('p', every(10_000))], { log: bench.log });
    second.giveAfter('p', 2_000, 1);
    second.keeper.begin();
    expect(await second.turn()).toEqual([]);
    await bench.clock.advance(2_000);
    expect(inShort(await bench.turn())).toEqual(['p=1']);
  });

  it('while the session waits nothing is loaded and no timer runs; the next turn takes it up again', async () => {
    const bench = benchOf([feed('p', every(1_000))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.turn();
    bench.append({ type: 'session.waiting', for: 'message' });
    await bench.clock.advance(1_000);
    expect(bench.clock.pending).toBe(0);
    await bench.clock.advance(3_600_000);
    expect(bench.callsOf('p')).toBe(1);
    bench.append({ type: 'message.received', from: 'user', text: 'Go on.' });
    await bench.turn();
    expect(bench.callsOf('p')).toBe(2);
    await bench.clock.advance(2_000);
    expect(bench.callsOf('p')).toBe(4);
  });

  it('a failing source is asked less and less often, and its staleness is told once', async () => {
    const bench = benchOf([feed('p', every(1_000))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(500);
    await bench.turn();
    bench.give('p', failing('down'));
    await bench.clock.advance(600);
    expect(await bench.turn()).toMatchObject([{ kind: 'failed', error: { code: 'down' }, ageMs: 1_100 }]);
    const before = bench.callsOf('p');
    await bench.clock.advance(60_000);
    // After 1, 2, 4, 8, 8 … s.
    expect(bench.callsOf('p') - before).toBe(9);
    expect(await bench.turn()).toEqual([]);
    bench.give('p', 1);
    await bench.clock.advance(10_000);
    expect(inShort(await bench.turn())).toEqual(['p=1']);
    expect(bench.events().filter(({ type }) => type === 'feed.failed')).toHaveLength(1);
  });

  it('a value that came before the failure and was not shown yet goes first', async () => {
    const bench = benchOf([feed('p', every(1_000))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(500);
    bench.give('p', failing('down'));
    await bench.clock.advance(1_000);
    expect(inShort(await bench.turn())).toEqual(['p=1']);
    expect(inShort(await bench.turn())).toEqual(['p!down']);
  });

  it('an interval that is next to nothing does not keep the process busy', async () => {
    const bench = benchOf([feed('p', every(1))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(1_000);
    expect(bench.callsOf('p')).toBe(11);
  });
});

describe('failures', () => {
  it('an on-demand feed that failed is left alone for its back-off', async () => {
    const bench = benchOf([feed('a')]);
    bench.give('a', failing('down'));
    expect(inShort(await bench.turn())).toEqual(['a!down']);
    expect(await bench.turn()).toEqual([]);
    await bench.clock.advance(999);
    expect(bench.keeper.beforeTurn()).toBeUndefined();
    await bench.clock.advance(1);
    await bench.turn();
    expect(bench.callsOf('a')).toBe(2);
    await bench.clock.advance(1_999);
    await bench.turn();
    expect(bench.callsOf('a')).toBe(2);
  });

  it('the log has the first failure of a row and each other code; stale tells the first, show each, omit none', async () => {
    for (const [on_error, told] of [
      ['omit', []],
      ['stale', ['a!down']],
      ['show', ['a!down', 'a!gone']],
    ] as const) {
      const bench = benchOf([feed('a', { on_error })]);
      const heard: string[] = [];
      for (const code of ['down', 'down', 'gone', 'gone', 'down']) {
        bench.give('a', failing(code));
        heard.push(...inShort(await bench.turn()));
        await bench.clock.advance(600_000);
      }
      expect(heard).toEqual(told);
      expect(
        bench.events().map((event) => event.type === 'feed.failed' && [event.error.code, event.times]),
      ).toEqual([
        ['down', 1],
        ['gone', 3],
        ['down', 5],
      ]);
    }
  });

  it('a start feed that failed is tried again, and shown once it is there', async () => {
    const bench = benchOf([feed('a', { inject: 'start' })]);
    bench.give('a', failing('down'));
    expect(inShort(await bench.turn())).toEqual(['a!down']);
    bench.give('a', 1);
    await bench.clock.advance(1_000);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
    await bench.turn();
    expect(bench.callsOf('a')).toBe(2);
  });

  it('one that fails without a word and is well again is so on the log', async () => {
    const bench = benchOf([feed('a', { on_error: 'omit' })]);
    bench.give('a', 1);
    await bench.turn();
    bench.give('a', failing('down'));
    await bench.turn();
    await bench.clock.advance(2_000);
    bench.give('a', 1);
    expect(await bench.turn()).toEqual([]);
    expect(bench.state.feeds.get('a')?.failing).toBeUndefined();
  });

  it('a restart goes on with the row and tells nothing twice', async () => {
    const first = benchOf([feed('a')]);
    first.give('a', failing('down'));
    await first.turn();
    const second = benchOf([feed('a')], { log: first.log });
    second.keeper.begin();
    second.give('a', failing('down'));
    expect(await second.turn()).toEqual([]);
    expect(second.callsOf('a')).toBe(1);
    expect(second.keeper.list()[0]).toMatchObject({ error: { code: 'down' } });
  });

  it('a source that throws at once, gives nothing, or settles after it was stopped breaks nothing', async () => {
    const bench = benchOf([feed('throws'), feed('nothing'), feed('stubborn'), feed('shape')], {
      loadTimeoutMs: 1_000,
      prepare: async ({ id }, value) => {
        if (id === 'shape') throw failing('bad_shape');
        return { value, tokens: 1 };
      },
    });
    bench.source('throws', () => {
      throw new Error('at once');
    });
    bench.give('nothing', undefined);
    bench.give('shape', 1);
    let settle: (value: Json) => void = () => {};
    bench.source(
      'stubborn',
      () =>
        new Promise((resolve) => {
          settle = resolve;
        }),
    );
    expect(inShort(await bench.turn(1_000))).toEqual([
      'throws!internal',
      'nothing!bad_output',
      'stubborn!timeout',
      'shape!bad_shape',
    ]);
    settle('too late');
    await bench.clock.advance(0);
    expect(bench.keeper.value('stubborn')).toBeUndefined();
  });
});

describe('references', () => {
  it('a feed is loaded after those it refers to: $id is the value, {{id}} in a text its text, other text stays', async () => {
    const bench = benchOf(
      [
        feed(
          'sum',
          params('sum', { whole: '$tree', user: '$user', text: 'of {{tree.files[0]}} for $tree {{user}}' }),
        ),
        feed('tree', { inject: 'reference' }),
      ],
      { lookup: (name) => (name === 'user' ? 'ann' : undefined) },
    );
    bench.giveAfter('tree', 100, { files: ['a.ts'] });
    bench.give('sum', 'ok');
    expect(inShort(await bench.turn(100))).toEqual(['sum="ok"']);
    expect(bench.calls.map(({ feed: { id } }) => id)).toEqual(['tree', 'sum']);
    expect(bench.calls[1]?.params).toEqual({
      whole: { files: ['a.ts'] },
      user: 'ann',
      text: 'of a.ts for $tree {{user}}',
    });
    expect(bench.state.feeds.get('tree')?.last?.value).toEqual({ files: ['a.ts'] });
  });

  it('in a chain of a thousand each names the next, and the reason is the one at its end', async () => {
    const chain = Array.from({ length: 1_000 }, (_, i) =>
      feed(`f${i}`, { inject: i === 0 ? 'on_change' : 'reference', refs: i === 999 ? [] : [`f${i + 1}`] }),
    );
    const bench = benchOf(chain);
    bench.give('f999', failing('down'));
    expect(await bench.turn(100)).toMatchObject([
      { error: { message: 'It refers to feed "f1", which failed: It is down.', cause: { code: 'down' } } },
    ]);
    await bench.clock.advance(2_000);
    for (const { id } of chain) bench.give(id, id);
    expect(inShort(await bench.turn(100))).toEqual(['f0="f0"']);
  });

  it('a feed whose reference fails again and again is there as soon as that is well', async () => {
    const bench = benchOf([feed('a', { refs: ['p'] }), feed('p', every(1_000, { inject: 'reference' }))]);
    bench.give('a', 1);
    bench.give('p', failing('down'));
    bench.keeper.begin();
    for (let turn = 0; turn < 7; turn++) {
      await bench.turn();
      await bench.clock.advance(40_000);
    }
    bench.give('p', 1);
    await bench.clock.advance(10_000);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
  });

  it('a name with hyphens is read as it is written', async () => {
    const bench = benchOf([
      feed('a', params('a', { at: '$disk-usage-1' })),
      feed('disk-usage', { inject: 'reference' }),
      feed('disk', { inject: 'reference' }),
    ]);
    bench.source('a', async (call) => call.params.at ?? null);
    expect(inShort(await bench.turn())).toEqual(['a="$disk-usage-1"']);
    expect(bench.callsOf('disk-usage') + bench.callsOf('disk')).toBe(0);
  });

  it('one that is referred to twice is loaded once', async () => {
    const bench = benchOf([
      feed('a', { refs: ['c'] }),
      feed('b', params('b', { at: '$c' })),
      feed('c', { inject: 'reference' }),
    ]);
    for (const id of ['a', 'b', 'c']) bench.give(id, id);
    await bench.turn();
    expect(bench.callsOf('c')).toBe(1);
  });

  it('a feed whose reference failed, is off or is not there fails and names it', async () => {
    const bench = benchOf([
      feed('a', { refs: ['b'] }),
      feed('b', { refs: ['c'], inject: 'reference' }),
      feed('c', { inject: 'reference' }),
      feed('d', { refs: ['off'] }),
      feed('off', { enabled: 'false' }),
      feed('e', { refs: ['nowhere'] }),
    ]);
    bench.give('c', failing('down'));
    const news = await bench.turn();
    expect(inShort(news)).toEqual(['a!feed_reference', 'd!feed_reference', 'e!feed_reference']);
    expect(news.map((one) => one.kind === 'failed' && one.error.message)).toEqual([
      'It refers to feed "b", which failed: It is down.',
      'It refers to feed "off", which failed: Feed "off" is switched off: its "enabled" does not hold.',
      'It refers to feed "nowhere", which failed: There is no feed "nowhere".',
    ]);
    expect(bench.calls.map((call) => call.feed.id)).toEqual(['c']);
  });

  it('what is made of a periodic feed takes its last value, and a failing one counts as failed', async () => {
    const bench = benchOf([
      feed('p', every(1_000, { inject: 'reference' })),
      feed('a', params('a', { of: '$p' })),
    ]);
    bench.give('p', 1);
    bench.source('a', async (call) => call.params.of ?? null);
    bench.keeper.begin();
    expect(inShort(await bench.turn())).toEqual(['a=1']);
    expect(bench.state.feeds.get('p')?.last?.value).toBe(1);
    bench.give('p', failing('down'));
    await bench.clock.advance(1_000);
    expect(inShort(await bench.turn())).toEqual(['a!feed_reference']);
  });

  it('a circle that a changed manifest brought fails its feeds and nothing else', async () => {
    const bench = benchOf([feed('a', { refs: ['b'] }), feed('b', { refs: ['a'] }), feed('c')]);
    bench.give('c', 1);
    expect(inShort(await bench.turn())).toEqual(['a!feed_cycle', 'b!feed_cycle', 'c=1']);
  });
});

describe('$id and reading', () => {
  const fetched = (bench: ReturnType<typeof benchOf>, id: string) =>
    new Promise<void>((resolve, reject) => {
      if (!bench.keeper.fetch(id, () => resolve())) reject(new Error(`no feed ${id}`));
    });

  it('a reference feed is loaded when it is named, put on the log once, and good for that turn only', async () => {
    const bench = benchOf([feed('a', { inject: 'reference' })]);
    bench.give('a', 1);
    await bench.turn();
    expect(bench.keeper.value('a')).toBeUndefined();
    await fetched(bench, 'a');
    expect(bench.keeper.value('a')).toBe(1);
    expect(bench.keeper.value('a')).toBe(1);
    expect(bench.events()).toHaveLength(1);
    await fetched(bench, 'a');
    expect(bench.callsOf('a')).toBe(1);
    expect(await bench.turn()).toEqual([]);
    expect(bench.keeper.value('a')).toBeUndefined();
  });

  it('what was shown is what $id stands for, and names that are no feeds are not ours', async () => {
    const bench = benchOf([feed('a'), feed('off', { enabled: 'false' })]);
    bench.give('a', 1);
    await bench.turn();
    expect(bench.keeper.value('a')).toBe(1);
    expect(bench.keeper.value('b')).toBeUndefined();
    expect(bench.keeper.fetch('b', () => {})).toBe(false);
    expect(bench.keeper.fetch('off', () => {})).toBe(false);
    expect(bench.events()).toHaveLength(1);
  });

  it('a failure of one that was named is told in the next turn; an old value stands in where on_error is stale', async () => {
    const bench = benchOf([
      feed('a', { inject: 'reference' }),
      feed('b', { inject: 'reference', on_error: 'omit' }),
    ]);
    for (const id of ['a', 'b']) {
      bench.give(id, 1);
      await fetched(bench, id);
      bench.keeper.value(id);
      bench.give(id, failing('down'));
    }
    await bench.turn();
    await fetched(bench, 'a');
    await fetched(bench, 'b');
    expect(bench.keeper.value('a')).toBe(1);
    expect(bench.keeper.value('b')).toBeUndefined();
    expect(inShort(await bench.turn())).toEqual(['a!down']);
  });

  it('a turn takes what was named just before it and is still loading', async () => {
    const bench = benchOf([feed('a')]);
    bench.giveAfter('a', 2_000, 1);
    bench.keeper.fetch('a', () => {});
    await bench.clock.advance(1_000);
    expect(inShort(await bench.turn(1_000))).toEqual(['a=1']);
    expect(bench.callsOf('a')).toBe(1);
  });

  it('of a periodic feed that fails the last value stands only where on_error is stale', async () => {
    const bench = benchOf([
      feed('stale', every(1_000, { inject: 'reference' })),
      feed('omit', every(1_000, { inject: 'reference', on_error: 'omit' })),
    ]);
    bench.keeper.begin();
    for (const id of ['stale', 'omit']) bench.give(id, 1);
    await bench.clock.advance(60_000);
    for (const id of ['stale', 'omit']) bench.give(id, failing('down'));
    await bench.clock.advance(60_000);
    expect(bench.keeper.value('stale')).toBe(1);
    expect(bench.keeper.value('omit')).toBeUndefined();
  });

  it('a value of a periodic feed goes on the log when it is named, and not again while it is the same', async () => {
    const bench = benchOf([feed('p', every(1_000, { inject: 'reference' }))]);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(100_500);
    expect(bench.events()).toEqual([]);
    expect(bench.keeper.value('p')).toBe(1);
    await bench.clock.advance(100_000);
    expect(bench.keeper.value('p')).toBe(1);
    expect(bench.events()).toHaveLength(1);
  });

  it('read gives the cached value, refresh asks the source, even while it is left alone after a failure', async () => {
    const bench = benchOf([feed('a', { cache_ttl: { ms: 60_000 } })]);
    bench.give('a', 1);
    await bench.turn();
    await bench.clock.advance(1_000);
    expect(await bench.keeper.read('a', false, never)).toEqual({
      id: 'a',
      value: 1,
      tokens: 1,
      ageMs: 1_000,
      cached: true,
    });
    bench.give('a', 2);
    expect(await bench.keeper.read('a', true, never)).toEqual({ id: 'a', value: 2, tokens: 1, ageMs: 0 });
    bench.give('a', failing('down'));
    await expect(bench.keeper.read('a', true, never)).rejects.toMatchObject({ code: 'down' });
    bench.give('a', 3);
    expect(await bench.keeper.read('a', true, never)).toMatchObject({ value: 3 });
  });

  it('one that failed just now is not read again, and what cannot be read says why', async () => {
    const bench = benchOf([feed('readme'), feed('off', { enabled: 'false' })]);
    bench.give('readme', failing('down'));
    await bench.turn();
    await expect(bench.keeper.read('readme', false, never)).rejects.toMatchObject({ code: 'down' });
    expect(bench.callsOf('readme')).toBe(1);
    await expect(bench.keeper.read('raedme', false, never)).rejects.toMatchObject({
      code: 'feed_unknown',
      hint: 'Did you mean "readme"?',
    });
    await expect(bench.keeper.read('off', false, never)).rejects.toMatchObject({ code: 'feed_disabled' });
  });

  it('a reader who leaves stops a load that nobody else wants, which is no failure', async () => {
    const bench = benchOf([feed('a', { inject: 'reference' })]);
    const reader = new AbortController();
    const reading = bench.keeper.read('a', true, reader.signal);
    reader.abort(new Error('cancelled'));
    await expect(reading).rejects.toThrow('cancelled');
    expect(bench.calls[0]?.signal.aborted).toBe(true);
    expect(bench.keeper.list()[0]?.error).toBeUndefined();
    bench.give('a', 1);
    expect((await bench.keeper.read('a', false, never)).value).toBe(1);
  });
});

describe('enabled', () => {
  it('words, CEL and what cannot be decided', async () => {
    const phase = { value: 'plan' };
    const bench = benchOf(
      [
        ...['', '0', 'false', 'NO'].map((enabled, i) => feed(`off${i}`, { enabled })),
        ...['1', 'true', 'Yes'].map((enabled, i) => feed(`on${i}`, { enabled })),
        feed('cel', { enabled: 'metadata.phase == "build"' }),
        feed('broken', { enabled: 'metadata.nothing > 1' }),
      ],
      { context: () => ({ metadata: { phase: phase.value } }) },
    );
    for (const { id } of bench.keeper.list()) bench.give(id, 1);
    expect(inShort(await bench.turn())).toEqual(['on0=1', 'on1=1', 'on2=1']);
    phase.value = 'build';
    expect(await bench.turn()).toEqual([]);
    bench.append({
      type: 'metadata.changed',
      changes: { phase: { from: 'plan', to: 'build' } },
      by: 'model',
    });
    expect(inShort(await bench.turn())).toEqual(['cel=1']);
    expect(bench.keeper.list().find(({ id }) => id === 'broken')).toMatchObject({
      enabled: false,
      error: { message: expect.stringContaining('nothing') },
    });
  });

  it('a periodic feed that is switched off is no longer loaded, and is taken up when it is switched on', async () => {
    let on = true;
    const bench = benchOf([feed('p', every(1_000, { enabled: 'on' }))], { context: () => ({ on }) });
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(2_500);
    expect(bench.callsOf('p')).toBe(3);
    const change = async () => {
      on = !on;
      bench.append({
        type: 'variable.changed',
        name: 'on',
        class: 'runtime',
        from: !on,
        to: on,
        by: 'model',
      });
      await bench.turn();
    };
    await change();
    expect(bench.clock.pending).toBe(0);
    await change();
    await bench.clock.advance(1_500);
    expect(bench.callsOf('p')).toBe(5);
  });

  it('a field that changes is looked at for the feeds that read it, and for no others', async () => {
    let looked = 0;
    const metadata: Record<string, unknown> = {
      step: 0,
      get phase() {
        looked++;
        return 'plan';
      },
    };
    const bench = benchOf(
      [
        ...Array.from({ length: 1_000 }, (_, i) =>
          feed(`off${i}`, { enabled: `metadata.phase == "build${i}"` }),
        ),
        feed('even', { enabled: 'metadata.step % 2 == 0' }),
        feed('both', { enabled: 'metadata.phase == "plan" && metadata.step == 3' }),
        feed('any', { enabled: 'metadata[vars.name] == 2' }),
      ],
      { context: () => ({ metadata, vars: { name: 'step' } }) },
    );
    for (const id of ['even', 'both', 'any']) bench.give(id, 1);
    const step = async (to: number) => {
      looked = 0;
      bench.append({ type: 'metadata.changed', changes: { step: { from: 0, to } }, by: 'model' });
      metadata.step = to;
      await bench.turn();
      return bench.keeper.list().flatMap(({ id, enabled }) => (enabled ? [id] : []));
    };
    await bench.turn();
    expect(await step(1)).toEqual([]);
    expect(looked).toBeLessThan(10);
    expect(await step(2)).toEqual(['even', 'any']);
    expect(await step(3)).toEqual(['both']);
    expect(looked).toBeLessThan(10);
  });

  it('a thousand feeds that are off or only referred to are not looked at in a turn', () => {
    const looked = { context: 0, feeds: 0, now: 0 };
    const unused = Array.from({ length: 1_000 }, (_, i) =>
      i % 2 === 0
        ? feed(`r${i}`, { inject: 'reference' })
        : feed(`d${i}`, {
            get enabled() {
              looked.feeds++;
              return 'off == 1';
            },
          } as Partial<Feed>),
    );
    const bench = benchOf(unused, {
      context: () => {
        looked.context++;
        return { off: 0 };
      },
    });
    bench.state.feeds = new Map(bench.state.feeds); // its own, which is looked at here
    const get = bench.state.feeds.get.bind(bench.state.feeds);
    bench.state.feeds.get = (id) => {
      looked.feeds++;
      return get(id);
    };
    bench.keeper.begin();
    bench.keeper.beforeTurn();
    const before = { ...looked };
    for (let turn = 0; turn < 100; turn++) expect(bench.keeper.beforeTurn()).toBeUndefined();
    expect(looked).toEqual(before);
    expect(bench.calls).toEqual([]);
    expect(bench.log).toEqual([]);
  });
});

describe('feeds that come and go', () => {
  const definition = (one: Feed): JsonObject => JSON.parse(JSON.stringify(one)) as JsonObject;

  it('an added feed is shown from the next turn on, and is there after a restart', async () => {
    const first = benchOf([feed('a')]);
    first.give('a', 1);
    first.give('b', 2);
    const b = feed('b', { refs: ['a'] });
    first.keeper.add(b, definition(b), 'model');
    expect(inShort(await first.turn())).toEqual(['a=1', 'b=2']);
    expect(first.keeper.list().map(({ id, by }) => [id, by])).toEqual([
      ['a', 'manifest'],
      ['b', 'model'],
    ]);
    const second = benchOf([feed('a')], { log: first.log });
    second.keeper.begin();
    second.give('a', 1);
    second.give('b', 3);
    expect(inShort(await second.turn())).toEqual(['b=3']);
    expect(second.keeper.definition('b')).toEqual(definition(b));
    expect(second.keeper.definition('a')).toEqual({ id: 'a', from: 'manifest' });
    expect(second.keeper.definition('c')).toBeUndefined();
  });

  it('a removed feed of the manifest stays away after a restart, and can be added again', async () => {
    const first = benchOf([feed('a'), feed('b')]);
    first.give('a', 1);
    first.give('b', 1);
    await first.turn();
    first.keeper.remove('a', 'model');
    const second = benchOf([feed('a'), feed('b')], { log: first.log });
    second.keeper.begin();
    expect(second.keeper.list().map(({ id }) => id)).toEqual(['b']);
    second.keeper.add(feed('a'), definition(feed('a')), 'model');
    const third = benchOf([feed('a'), feed('b')], { log: second.log });
    third.keeper.begin();
    expect(third.keeper.list().map(({ id, by }) => [id, by])).toEqual([
      ['a', 'model'],
      ['b', 'manifest'],
    ]);
  });

  it('of a feed that the session added and removed nothing stays', () => {
    const bench = benchOf([]);
    bench.keeper.add(feed('x'), {}, 'model');
    bench.keeper.remove('x', 'model');
    expect(bench.state.feeds.size).toBe(0);
  });

  it('an update counts from the next turn on, stops what the old one loads and forgets its value', async () => {
    const bench = benchOf([feed('a', { cache_ttl: { ms: 1e9 } })]);
    bench.give('a', 1);
    await bench.turn();
    bench.source('a', () => new Promise(() => {}));
    const stale = bench.keeper.read('a', true, never);
    const other = feed('a', params('a', { depth: 2 }));
    bench.keeper.update('a', other, definition(other), 'model');
    await expect(stale).rejects.toMatchObject({ code: 'cancelled' });
    bench.give('a', 1);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
    expect(bench.calls.at(-1)?.params).toEqual({ depth: 2 });
  });

  it('an added periodic feed is loaded at once, and no longer once it is removed', async () => {
    const bench = benchOf([]);
    bench.keeper.begin();
    bench.give('p', 1);
    bench.keeper.add(feed('p', every(1_000)), {}, 'model');
    await bench.clock.advance(1_500);
    expect(bench.callsOf('p')).toBe(2);
    bench.keeper.remove('p', 'model');
    await bench.clock.advance(10_000);
    expect(bench.callsOf('p')).toBe(2);
    expect(bench.clock.pending).toBe(0);
  });

  it('clashes, circles, references to nothing and removals that would leave some are refused and change nothing', () => {
    const bench = benchOf([feed('a', params('a', { of: '$new' })), feed('b', { refs: ['a'] })]);
    const { keeper } = bench;
    const refused = (change: () => void, code: string, words: string) => {
      expect(change).toThrow(expect.objectContaining({ code, message: expect.stringContaining(words) }));
    };
    refused(() => keeper.add(feed('a'), {}, 'model'), 'feed_exists', '"a"');
    refused(
      () => keeper.add(feed('new', { refs: ['b'] }), {}, 'model'),
      'feed_cycle',
      '$new → $b → $a → $new',
    );
    refused(() => keeper.add(feed('self', { refs: ['self'] }), {}, 'model'), 'feed_cycle', '$self → $self');
    refused(() => keeper.add(feed('c', { refs: ['d'] }), {}, 'model'), 'feed_unknown', '"c" refers to "d"');
    refused(() => keeper.update('a', feed('a', { refs: ['b'] }), {}, 'model'), 'feed_cycle', '$a → $b → $a');
    refused(() => keeper.update('d', feed('d'), {}, 'model'), 'feed_unknown', '"d"');
    refused(() => keeper.remove('a', 'model'), 'feed_in_use', 'by b.');
    refused(() => keeper.remove('d', 'model'), 'feed_unknown', '"d"');
    expect(bench.log).toEqual([]);
    for (let i = 0; i < MAX_ADDED_FEEDS; i++) keeper.add(feed(`x${i}`), {}, 'model');
    refused(() => keeper.add(feed('one_more'), {}, 'model'), 'feed_limit', '50');
    keeper.remove('x0', 'model');
    keeper.add(feed('one_more'), {}, 'model');
  });

  it('a definition on the log that can no longer be read is told once, and can be replaced', async () => {
    const first = benchOf([]);
    first.keeper.add(feed('x'), { id: 'x', future: true }, 'model');
    const read = () => {
      throw failing('bad_manifest');
    };
    const second = benchOf([], { log: first.log, read });
    second.keeper.begin();
    expect(inShort(await second.turn())).toEqual(['x!bad_manifest']);
    const third = benchOf([], { log: second.log, read });
    third.keeper.begin();
    expect(await third.turn()).toEqual([]);
    expect(third.keeper.definition('x')).toEqual({ id: 'x', future: true });
    third.give('x', 1);
    third.keeper.update('x', feed('x'), definition(feed('x')), 'model');
    expect(inShort(await third.turn())).toEqual(['x=1']);
  });
});

describe('what sessions share', () => {
  const shared = (more: Partial<Feed> = {}) =>
    feed('a', { cache_scope: 'agent', cache_ttl: { ms: 10_000 }, ...more });

  it('a value another session loaded is taken as long as it is fresh, and marked as cached', async () => {
    const first = benchOf([shared()]);
    first.give('a', 1);
    await first.turn();
    const cache = { get: async (key: string) => first.shared.get(key), set: async () => {} };
    const second = benchOf([shared()], { cache, clock: first.clock });
    await first.clock.advance(4_000);
    expect(await second.turn()).toMatchObject([{ value: 1, ageMs: 4_000 }]);
    expect(second.callsOf('a')).toBe(0);
    expect(second.events()).toMatchObject([{ cached: true }]);
    second.give('a', 2);
    expect(await second.keeper.read('a', true, never)).toMatchObject({ value: 2 });
    await first.clock.advance(6_000);
    const third = benchOf([shared()], { cache, clock: first.clock });
    third.give('a', 3);
    expect(inShort(await third.turn())).toEqual(['a=3']);
  });

  it('other params, another definition and what is of the session itself are not shared', async () => {
    const keys = async (one: Feed, user = 'ann') => {
      const bench = benchOf([one], { lookup: () => user });
      bench.give('a', 1);
      await bench.turn();
      return [...bench.shared.keys()];
    };
    const asked = shared(params('a', { who: '$user' }));
    const all = [
      ...(await keys(shared())),
      ...(await keys(shared({ max_tokens: 7 }))),
      ...(await keys(asked, 'ann')),
      ...(await keys(asked, 'bob')),
    ];
    expect(new Set(all).size).toBe(4);
    expect(await keys(asked)).toEqual([all[2]]);
    for (const more of [
      { source: { type: 'metadata', params: {} } },
      { source: { type: 'internal', action: 'random', params: {} } },
      { source: { type: 'agent', name: 'x', params: {} } },
      { transform: [{ cel: 'value + metadata.x' }] },
      { cache_scope: 'session' },
      { cache_ttl: { ms: 0 } },
    ] as Partial<Feed>[])
      expect(await keys(shared(more))).toEqual([]);
    expect(await keys(shared({ transform: [{ cel: 'value' }] }))).toHaveLength(1);
  });

  it('refresh is from the source even where a load from the cache is under way', async () => {
    const cached = { value: 'old', tokens: 1, loadedAt: 0 };
    const bench = benchOf([shared({ inject: 'reference' })], {
      cache: { get: async () => ({ ...cached, loadedAt: bench.clock.now() }), set: async () => {} },
    });
    bench.give('a', 'new');
    bench.keeper.fetch('a', () => {});
    expect(await bench.keeper.read('a', true, never)).toEqual({ id: 'a', value: 'new', tokens: 5, ageMs: 0 });
    expect(bench.callsOf('a')).toBe(1);
  });

  it('a cache that fails costs the sharing and nothing else', async () => {
    const fails = async () => {
      throw new Error('disk');
    };
    const bench = benchOf([shared()], { cache: { get: fails, set: fails } });
    bench.give('a', 1);
    expect(inShort(await bench.turn())).toEqual(['a=1']);
  });
});

describe('close', () => {
  it('stops loads and timers, ends a turn that waits, and nothing is appended any more', async () => {
    const bench = benchOf([feed('a'), feed('p', every(1_000))]);
    bench.giveAfter('a', 60_000, 1);
    bench.give('p', 1);
    bench.keeper.begin();
    await bench.clock.advance(1);
    const waiting = bench.keeper.beforeTurn();
    let called = false;
    bench.keeper.fetch('a', () => {
      called = true;
    });
    await bench.keeper.close();
    await waiting;
    expect(bench.calls.every(({ feed: { id }, signal }) => id === 'p' || signal.aborted)).toBe(true);
    expect(bench.log).toEqual([]);
    expect(bench.keeper.beforeTurn()).toBeUndefined();
    expect(bench.keeper.value('p')).toBeUndefined();
    expect(bench.keeper.fetch('p', () => {})).toBe(false);
    expect(() => bench.keeper.remove('a', 'model')).toThrow('ended');
    await expect(bench.keeper.read('a', false, never)).rejects.toMatchObject({ code: 'cancelled' });
    await bench.clock.advance(120_000);
    expect(bench.callsOf('p')).toBe(1);
    expect(called).toBe(false);
    expect(bench.log).toEqual([]);
  });

  it('asks no source that was still to be asked', async () => {
    const bench = benchOf([feed('a', { refs: ['b'] }), feed('b', { inject: 'reference' }), feed('c')]);
    const waiting = bench.keeper.beforeTurn();
    await bench.keeper.close();
    await waiting;
    await bench.clock.advance(0);
    expect(bench.calls).toEqual([]);
  });

  it('waits for sources to stop, but not for ever', async () => {
    const bench = benchOf([feed('a')]);
    let stopped = false;
    bench.source(
      'a',
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () =>
            bench.clock.after(3_000, () => {
              stopped = true;
              reject(signal.reason);
            }),
          );
        }),
    );
    void bench.keeper.beforeTurn();
    await bench.clock.advance(0);
    const closed = bench.keeper.close();
    await bench.clock.advance(3_000);
    await closed;
    expect(stopped).toBe(true);
    const hung = benchOf([feed('a')]);
    void hung.keeper.beforeTurn();
    await hung.clock.advance(0);
    let over = false;
    void hung.keeper.close().then(() => {
      over = true;
    });
    await hung.clock.advance(4_999);
    expect(over).toBe(false);
    await hung.clock.advance(1);
    await hung.clock.advance(0);
    expect(over).toBe(true);
  });
});
