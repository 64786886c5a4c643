import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Tables } from '../../src/store/store.ts';
import { createQueue } from '../../src/tools/relics/queue/queue-relic.ts';
import { moreRuns } from '../more-runs.ts';
import { PATIENT } from '../store/eventually.ts';
import { startStoreProcess } from '../store/start-store-process.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { agentTargets } from './agent-targets.ts';
import { memoryTables } from './memory-tables.ts';

const AT = '2026-01-01T00:00:00.000Z';

async function given(tables?: Tables, clock: SimulatedClock = createSimulatedClock()) {
  const store = { location: 'memory', tables: tables ?? memoryTables(() => clock.now()) };
  const targets = await agentTargets({
    agent: 'import: { relics: [./r.yml] }',
    files: { 'r.yml': 'kind: Relic\nname: jobs\ndriver: queue\n' },
    options: { clock, store },
  });
  let calls = 0;
  /** Each call is an action of its own, unless it says which. */
  const call = (operation: string, input: JsonObject = {}, action = `a${++calls}`): Promise<Json> =>
    targets.call('jobs', { operation, ...input }, { idempotencyKey: `s1:${action}` });
  const failure = (operation: string, input: JsonObject = {}) =>
    targets.failure('jobs', { operation, ...input }, { idempotencyKey: `s1:f${++calls}` });
  const claim = async (input: JsonObject = {}) => (await call('claim', input)) as JsonObject;
  return { ...targets, clock, store, call, failure, claim };
}

test('what is pushed first is popped first, and push is the default', async () => {
  const { call, tool } = await given();
  expect(await call('push', { value: 'one' })).toEqual({ n: 1 });
  expect(await call('push', { value: null })).toEqual({ n: 2 });
  expect(await call('size')).toEqual({ ready: 2, leased: 0, delayed: 0 });
  expect(await call('peek', { limit: 5 })).toMatchObject({ items: [{ value: 'one' }, { value: null }] });
  expect(await call('pop')).toEqual({ n: 1, value: 'one', pushed_at: AT, tries: 1 });
  expect(await call('pop')).toMatchObject({ n: 2, value: null });
  expect(await call('pop')).toBeNull();
  expect(tool('jobs').parameters).toMatchObject({ properties: { operation: { default: 'push' } } });
});

test('a claimed item is kept from others until it is acknowledged', async () => {
  const { call, claim } = await given();
  await call('push', { value: 'one' });
  await call('push', { value: 'two' });
  const first = await claim();
  expect(first).toMatchObject({ value: 'one', tries: 1, until: '2026-01-01T00:01:00.000Z' });
  expect(await claim()).toMatchObject({ value: 'two' });
  expect(await call('claim')).toBeNull();
  expect(await call('size')).toEqual({ ready: 0, leased: 2, delayed: 0 });
  expect(await call('ack', { lease: first.lease ?? '' })).toEqual({ acked: true });
  expect(await call('size')).toMatchObject({ leased: 1 });
});

test('an item whose lease runs out is given out again, in its old place', async () => {
  const { call, claim, failure, clock } = await given();
  await call('push', { value: 'one' });
  await call('push', { value: 'two' });
  const late = await claim({ lease_for: '30s' });
  await clock.advance(29_999);
  expect(await call('peek')).toMatchObject({ items: [{ value: 'two' }] });
  await clock.advance(1);
  expect(await claim()).toMatchObject({ value: 'one', tries: 2 });
  expect(await failure('ack', { lease: late.lease ?? '' })).toMatchObject({
    code: 'lease_lost',
    hint: expect.stringContaining('extend'),
  });
});

test('a lease can be made longer', async () => {
  const { call, claim, clock } = await given();
  await call('push', { value: 'one' });
  const { lease = '' } = await claim({ lease_for: 10 });
  await clock.advance(9_000);
  expect(await call('extend', { lease, lease_for: 10 })).toEqual({ until: '2026-01-01T00:00:19.000Z' });
  await clock.advance(9_000);
  expect(await call('claim')).toBeNull();
  expect(await call('ack', { lease })).toEqual({ acked: true });
});

test('a lease that ran out while nobody else wanted the item still counts', async () => {
  const { call, claim, clock } = await given();
  await call('push', { value: 'one' });
  const { lease = '' } = await claim({ lease_for: 10 });
  await clock.advance(60_000);
  expect(await call('ack', { lease })).toEqual({ acked: true });
  expect(await call('size')).toEqual({ ready: 0, leased: 0, delayed: 0 });
});

test('what is given back, or pushed with a delay, waits for its time', async () => {
  const { call, claim, clock, failure } = await given();
  await call('push', { value: 'later', delay: '1m' });
  await call('push', { value: 'now' });
  const { lease = '' } = await claim();
  expect(await call('release', { lease })).toEqual({ released: true });
  const again = await claim();
  expect(again).toMatchObject({ value: 'now', tries: 2 });
  await call('release', { lease: again.lease ?? '', delay: '2m' });
  expect(await call('size')).toEqual({ ready: 0, leased: 0, delayed: 2 });
  await clock.advance(120_000);
  expect(await call('size')).toEqual({ ready: 2, leased: 0, delayed: 0 });
  expect(await claim()).toMatchObject({ value: 'later' });
  expect((await failure('push', { value: 1, delay: 'soon' })).message).toContain('"/delay"');
});

test('clear removes what nobody holds', async () => {
  const { call, claim } = await given();
  for (let n = 0; n < 40; n++) await call('push', { value: n });
  await call('push', { value: 'later', delay: 60 });
  const { lease = '' } = await claim();
  expect(await call('clear')).toEqual({ removed: 40 });
  expect(await call('size')).toEqual({ ready: 0, leased: 1, delayed: 0 });
  expect(await call('ack', { lease })).toEqual({ acked: true });
});

test('an action that is made again after a crash does nothing twice', async () => {
  const { call, tool, store } = await given();
  expect(await call('push', { value: 'one' }, 'p')).toEqual({ n: 1 });
  expect(await call('push', { value: 'one' }, 'p')).toEqual({ n: 1, duplicate: true });
  await call('push', { value: 'two' }, 'q');
  const claimed = (await call('claim', {}, 'c')) as JsonObject;
  expect(await call('claim', {}, 'c')).toEqual(claimed);
  const { lease = '' } = claimed;
  expect(await call('ack', { lease }, 'k')).toEqual({ acked: true });
  expect(await call('ack', { lease }, 'k')).toEqual({ acked: true });
  expect(await call('push', { value: 'one' }, 'p')).toMatchObject({ duplicate: true });
  expect(await call('size')).toEqual({ ready: 1, leased: 0, delayed: 0 });
  const again = (operation: string) => tool('jobs').idempotentFor?.({ operation });
  const all = ['push', 'claim', 'ack', 'release', 'extend', 'peek', 'size', 'clear', 'health', 'pop'];
  expect(all.filter((name) => !again(name))).toEqual(['pop']);
  expect(await store.tables.get('relic-queue:jobs', 'count')).toBe(1);
});

test('an item under a key of its own is pushed once', async () => {
  const { call } = await given();
  expect(await call('push', { value: 1, key: 'invoice 7' })).toEqual({ n: 1 });
  expect(await call('push', { value: 1, key: 'invoice 7' })).toEqual({ n: 1, duplicate: true });
  expect(await call('push', { value: 1, key: 's1:a1' })).toEqual({ n: 2 });
});

test('a lease that was given back cannot be acknowledged, nor one that never was', async () => {
  const { call, claim, failure } = await given();
  await call('push', { value: 1 });
  const { lease = '' } = await claim();
  await call('release', { lease });
  expect(await call('release', { lease })).toEqual({ released: true });
  expect(await failure('ack', { lease })).toMatchObject({
    code: 'lease_lost',
    message: expect.stringContaining('released before'),
  });
  expect(await failure('ack', { lease: 'nonsense' })).toMatchObject({ code: 'lease_lost' });
});

test('a full queue says so, and takes items again once there is room', async () => {
  const { call, failure, store } = await given();
  await call('push', { value: 1 });
  await store.tables.set('relic-queue:jobs', 'count', 100_000);
  // The count was wrong: it is taken anew before anything is refused.
  await call('push', { value: 2 });
  expect(await store.tables.get('relic-queue:jobs', 'count')).toBe(2);
  const { tables } = store;
  const keys = tables.keys;
  const crowd = Array.from({ length: 100_000 }, (_, n) => `ready/${n}`);
  tables.keys = async (table, options) =>
    options?.prefix === 'ready/' && options.limit === undefined ? crowd : keys(table, options);
  await tables.set('relic-queue:jobs', 'count', 100_000);
  expect(await failure('push', { value: 3 })).toMatchObject({ code: 'queue_full', retryable: true });
  tables.keys = keys;
  await call('pop');
  await call('push', { value: 3 });
});

test('its health has its size', async () => {
  const { call } = await given();
  await call('push', { value: 1 });
  expect(await call('health')).toEqual({
    ok: true,
    driver: 'queue',
    where: 'memory',
    latency_ms: 0,
    ready: 1,
    leased: 0,
    delayed: 0,
  });
});

test('whatever is done in whatever order, nothing is lost, doubled or out of order', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('push' as const) }),
    fc.record({ do: fc.constant('claim' as const) }),
    fc.record({ do: fc.constant('pop' as const) }),
    fc.record({ do: fc.constantFrom('ack' as const, 'release' as const), which: fc.nat(5) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.nat(1500) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let now = 0;
      const queue = createQueue(
        'relic "q"',
        'q',
        memoryTables(() => now),
        { now: () => now },
      );
      /** The model: numbers in order, and who holds which until when. */
      const ready = new Set<number>();
      const held = new Map<string, { readonly n: number; readonly until: number }>();
      const first = () => {
        for (const [lease, { n, until }] of held)
          if (until <= now) {
            held.delete(lease);
            ready.add(n);
          }
        return [...ready].toSorted((a, b) => a - b)[0];
      };
      for (const [index, each] of steps.entries()) {
        if (each.do === 'push') ready.add((await queue.push(index, `k${index}`, 0)).n);
        else if (each.do === 'wait') now += each.ms;
        else if (each.do === 'pop' || each.do === 'claim') {
          const expected = first();
          const got = each.do === 'pop' ? await queue.pop() : await queue.claim(`l${index}`, 1000);
          expect(got?.n).toBe(expected);
          if (expected === undefined) continue;
          ready.delete(expected);
          if (each.do === 'claim') held.set(`l${index}`, { n: expected, until: now + 1000 });
        } else {
          first();
          const lease = [...held.keys()][each.which];
          if (lease === undefined) continue;
          const { n = 0 } = held.get(lease) ?? {};
          held.delete(lease);
          if (each.do === 'release') ready.add(n);
          await (each.do === 'ack' ? queue.ack(lease) : queue.release(lease, 0));
        }
      }
      first();
      expect(await queue.size()).toEqual({ ready: ready.size, leased: held.size, delayed: 0 });
    }),
    { numRuns: moreRuns(60) },
  );
});

test(
  'several stores on one file, one of them in another process, share it without a slip',
  PATIENT,
  async () => {
    const folder = await temporaryFolder();
    const path = folder.path('store.db');
    const clock = createSystemClock();
    const open = () => openSqliteStore({ path, clock, pid: process.pid, durability: 'process' });
    const [one, two] = await Promise.all([open(), open()]);
    const other = startStoreProcess('queue', path, 'jobs');
    onTestFinished(async () => {
      await other.kill();
      await Promise.all([one.close(), two.close()]);
      await folder.remove();
    });
    const queues = [one, two].map(({ tables }) =>
      createQueue('relic "jobs"', 'relic-queue:jobs', tables, clock),
    );
    await Promise.all(
      queues.flatMap((queue, who) =>
        Array.from({ length: 30 }, (_, n) => queue.push(`${who}-${n}`, `${who}-${n % 25}`, 0)),
      ),
    );
    await other.says('pushed');
    const seen: Json[] = [];
    await Promise.all(
      queues.map(async (queue, who) => {
        for (let n = 0; ; n++) {
          const item = await queue.claim(`lease-${who}-${n}`, 60_000);
          if (item === undefined) return;
          seen.push(item.value);
          await queue.ack(item.lease);
        }
      }),
    );
    await other.ended;
    const theirs = other.said().filter((line) => line !== 'pushed');
    // 25 of each of ours, as keys repeat, and 20 of theirs.
    const all = [...seen.map(String), ...theirs];
    expect(all).toHaveLength(70);
    expect(new Set(all).size).toBe(70);
    expect(await queues[0]?.size()).toEqual({ ready: 0, leased: 0, delayed: 0 });
  },
);
