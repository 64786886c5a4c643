import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Feed } from '../../src/feeds/feed.ts';
import { backOffMs } from '../../src/feeds/feed-loads.ts';
import { cycleThrough, orderFeeds } from '../../src/feeds/feed-table.ts';
import { moreRuns } from '../more-runs.ts';
import { benchOf, every, failing, feed, inShort } from './feed-bench.ts';

const SIZE = 8;
const idOf = (i: number) => `f${i}`;
const anyGraph = fc
  .array(fc.uniqueArray(fc.nat(SIZE - 1), { maxLength: 3 }), { minLength: 1, maxLength: SIZE })
  .map((lists) => new Map(lists.map((refs, i) => [idOf(i), refs.map(idOf)])));

describe('the graph of references', () => {
  it('each feed comes after those it refers to; left over are those that no order can be found for', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const { order, stuck } = orderFeeds(graph);
        expect([...order, ...stuck].sort()).toEqual([...graph.keys()].sort());
        const place = new Map(order.map((id, i) => [id, i]));
        for (const id of order)
          for (const ref of graph.get(id) ?? [])
            if (graph.has(ref)) expect(place.get(ref)).toBeLessThan(place.get(id) ?? -1);
        for (const id of stuck)
          expect(cycleThrough(graph, id) ?? graph.get(id)?.some((ref) => stuck.includes(ref))).toBeTruthy();
      }),
    );
  });

  it('a circle that is shown is one, and is shown wherever there is one', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const cycles = [...graph.keys()].map((id) => cycleThrough(graph, id));
        for (const cycle of cycles)
          cycle?.slice(1).forEach((id, i) => {
            expect(graph.get(cycle[i] ?? '')).toContain(id);
          });
        expect(cycles.some((cycle) => cycle !== undefined)).toBe(orderFeeds(graph).stuck.length > 0);
      }),
    );
  });

  it('whatever the graph and however long each takes, a source is asked once, after those it refers to', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyGraph,
        fc.array(fc.nat(400), { minLength: SIZE, maxLength: SIZE }),
        async (all, times) => {
          // Only back: no circle.
          const graph = [...all].map(([id, refs]) => [id, refs.filter((ref) => ref < id)] as const);
          const bench = benchOf(graph.map(([id, refs]) => feed(id, { refs })));
          const ended: string[] = [];
          for (const [i, [id, refs]] of graph.entries())
            bench.source(id, async () => {
              expect(ended).toEqual(expect.arrayContaining([...refs]));
              await new Promise<void>((resolve) => void bench.clock.after(times[i] ?? 0, resolve));
              ended.push(id);
              return id;
            });
          const news = await bench.turn(5_000);
          expect(inShort(news)).toEqual(graph.map(([id]) => `${id}="${id}"`));
          expect(bench.calls).toHaveLength(graph.length);
        },
      ),
      { numRuns: moreRuns(40) },
    );
  });
});

it('a back-off never shrinks, and stays between its first and its last', () => {
  const feeds = [feed('a'), feed('p', every(30_000))] as const;
  fc.assert(
    fc.property(
      fc.constantFrom(...feeds),
      fc.integer({ min: 1, max: 2_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (one, times, random) => {
        const [first, last] = one.type === 'periodic' ? [30_000, 300_000] : [1_000, 300_000];
        const wait = backOffMs(one, times, random);
        expect(wait).toBeGreaterThanOrEqual(first);
        expect(wait).toBeLessThanOrEqual(last);
        expect(backOffMs(one, times + 1, random)).toBeGreaterThanOrEqual(wait);
      },
    ),
  );
});

/** What a source does next, and whether the process dies first. */
const anyStep = fc.record({
  gives: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<{ readonly value: number }>({ value: 1 }, { value: 2 }) },
    { weight: 2, arbitrary: fc.constantFrom<{ readonly code: string }>({ code: 'down' }, { code: 'gone' }) },
  ),
  restart: fc.boolean(),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
const anyErrors = fc.constantFrom<Feed['on_error']>('omit', 'stale', 'show');

/** The rules in their simplest form: what is said in each turn. */
function expected(steps: readonly Step[], inject: Feed['inject'], on_error: Feed['on_error']) {
  let shown: string | undefined;
  let row: { last: string; told: Set<string> } | undefined;
  return steps.map(({ gives, restart }) => {
    let told: string | undefined;
    if (restart && row !== undefined) row.told = new Set([row.last]);
    if ('value' in gives) {
      row = undefined;
      const word = `a=${gives.value}`;
      if (inject === 'each_turn' || shown !== word) told = word;
    } else {
      const first = row === undefined;
      row ??= { last: '', told: new Set() };
      const isNew = row.last !== gives.code;
      const mayTell = on_error === 'show' ? !row.told.has(gives.code) : on_error === 'stale' && first;
      if (isNew && mayTell) {
        told = `a!${gives.code}`;
        row.told.add(gives.code);
      }
      row.last = gives.code;
    }
    shown = told ?? shown;
    return { told: told === undefined ? [] : [told], failing: row?.last };
  });
}

describe('whatever values and failures come', () => {
  it('the model is shown exactly the changes, and a log that is folded anew goes on as if nothing had been', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { minLength: 1, maxLength: 12 }),
        fc.constantFrom<Feed['inject']>('on_change', 'each_turn'),
        anyErrors,
        async (steps, inject, on_error) => {
          const feeds = [feed('a', { inject, on_error })];
          let bench = benchOf(feeds);
          const wanted = expected(steps, inject, on_error);
          for (const [i, { gives, restart }] of steps.entries()) {
            if (restart) {
              bench = benchOf(feeds, { log: bench.log, clock: bench.clock });
              bench.keeper.begin();
            }
            bench.give('a', 'value' in gives ? gives.value : failing(gives.code));
            const before = bench.log.length;
            expect(inShort(await bench.turn())).toEqual(wanted[i]?.told);
            const known = bench.state.feeds.get('a');
            expect(known?.failing?.error.code).toBe(wanted[i]?.failing);
            if ('value' in gives) expect(known?.last?.value).toBe(gives.value);
            // At most one thing is said of a feed in a turn.
            expect(bench.events(before).length).toBeLessThanOrEqual(1);
            await bench.clock.advance(600_000);
          }
        },
      ),
      { numRuns: moreRuns(150) },
    );
  });

  it('of a periodic feed a turn says at most one thing, and what was said last is how things stand', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ gives: anyStep.map(({ gives }) => gives), turn: fc.boolean() }), {
          maxLength: 20,
        }),
        anyErrors,
        async (steps, on_error) => {
          const bench = benchOf([feed('a', every(1_000, { on_error }))]);
          bench.give('a', 0);
          bench.keeper.begin();
          await bench.clock.advance(500);
          let last = inShort(await bench.turn()).at(-1);
          let stale = 0;
          for (const { gives, turn } of steps) {
            bench.give('a', 'value' in gives ? gives.value : failing(gives.code));
            // Past the longest wait, so that the source was asked.
            await bench.clock.advance(13_000);
            stale = 'value' in gives ? 0 : stale;
            if (!turn) continue;
            const said = inShort(await bench.turn());
            expect(said.length).toBeLessThanOrEqual(1);
            if (said[0]?.startsWith('a=')) expect(said[0]).not.toBe(last);
            last = said[0] ?? last;
            if ('value' in gives) expect(last).toBe(`a=${gives.value}`);
            else if (++stale >= 2 && on_error !== 'omit') expect(last).toMatch(/^a!/);
            if (on_error === 'omit') expect(last).toMatch(/^a=/);
          }
        },
      ),
      { numRuns: moreRuns(100) },
    );
  });
});
