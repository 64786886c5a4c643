import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { PostgresStoreOptions } from '../../src/store/postgres/open-postgres-store.ts';
import { append, outcome } from './appending.ts';
import { type CutProxy, openCutProxy } from './cut-proxy.ts';
import { eventually, PATIENT } from './eventually.ts';
import { type PostgresHome, type SharedByAll, useHome } from './postgres-home.ts';

const RUN = { kind: 'run', name: 'flow', status: 'running', title: 'A run' } as const;
const WORKER = { role: 'worker', host: 'here', version: '0', capacity: 1, working: 0 } as const;
const LEASE_MS = 500;
const QUICK = { beatMs: 50, leaseMs: LEASE_MS, lookMs: 100 } as const;

let home: PostgresHome;
useHome((made) => {
  home = made;
});

const names = async (store: SharedByAll) => (await store.shared.orphans(100)).map(({ stream }) => stream);
const quick = (options: Partial<PostgresStoreOptions> = {}) => home.open({ timing: QUICK, ...options });
const ownerOf = async (store: SharedByAll, stream: string) => (await store.info(stream))?.owner;

async function begun(store: SharedByAll, stream: string) {
  const writer = await store.create(stream, RUN);
  await append(writer, { expectedSeq: 0, events: ['{}'] });
  return writer;
}

/** A store that reaches the database by way of a proxy. */
async function cuttable(timing: PostgresStoreOptions['timing'] = QUICK): Promise<[SharedByAll, CutProxy]> {
  const proxy = await openCutProxy(home.url);
  onTestFinished(() => proxy.close());
  return [await home.open({ url: proxy.url, timing }), proxy];
}

/** As others do with whoever was silent for too long. */
const takeForDead = (pid: number) =>
  home.sql(
    `WITH gone AS (UPDATE {S}.owners SET gone_at = now() WHERE pid = $1 RETURNING id),
        slots AS (DELETE FROM {S}.slots WHERE owner IN (SELECT id FROM gone))
      UPDATE {S}.heads SET owner = NULL WHERE owner IN (SELECT id FROM gone)`,
    [pid],
  );
/** Long enough for others to look before he is back. */
const SLOW = { ...QUICK, beatMs: 500, leaseMs: 2_500 };

test(
  'whoever was taken for dead and comes back owns again what nobody has taken, and is woken for it',
  PATIENT,
  async () => {
    const [store, other] = [await home.open({ pid: 4_000_001, timing: SLOW }), await quick()];
    const [writer, lost] = [await begun(store, 's'), await begun(store, 'lost')];
    await takeForDead(4_000_001);
    expect((await names(other)).toSorted()).toEqual(['lost', 's']);
    await other.acquire('lost');
    await eventually(async () => expect(await ownerOf(other, 's')).toMatchObject({ pid: 4_000_001 }));
    expect(await names(other)).toEqual([]);
    let woken = 0;
    writer.onWake(() => {
      woken += 1;
    });
    await other.send('s', { kind: 'steer', from: 'tester', body: 1 });
    await eventually(() => expect(woken).toBeGreaterThan(0));
    await append(writer, { expectedSeq: 1, events: ['{}'] });
    expect(await outcome(lost, { expectedSeq: 1, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
    await expect(other.acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
  },
);

test('he owns it again also where nobody has set it free yet', PATIENT, async () => {
  const [store, other] = [await quick({ pid: 4_000_005 }), await quick()];
  await begun(store, 's');
  await home.sql('UPDATE {S}.owners SET gone_at = now() WHERE pid = 4000005');
  await eventually(async () => expect(await ownerOf(other, 's')).toMatchObject({ pid: 4_000_005 }));
  expect(await names(other)).toEqual([]);
});

test('an append finds out that its owner was taken for dead, and makes the stream its own again', async () => {
  // It gives its signs of life so rarely that the append comes first.
  const store = await home.open({ pid: 4_000_002, timing: { beatMs: 60_000, leaseMs: 300_000 } });
  const other = await home.open();
  const [writer, untouched] = [await begun(store, 's'), await begun(store, 'untouched')];
  await takeForDead(4_000_002);
  expect(await names(other)).toHaveLength(2);
  await append(writer, { expectedSeq: 1, events: ['{}'] });
  expect(await names(other)).toEqual([]);
  await append(untouched, { expectedSeq: 1, events: ['{}'] });
});

test('permits of whoever was taken for dead count again when he is back', PATIENT, async () => {
  const [store, other] = [await home.open({ pid: 4_000_003, timing: SLOW }), await quick()];
  store.shared.present(WORKER);
  expect(await store.shared.slots.take('tool', 1, 'a')).toBe(true);
  await takeForDead(4_000_003);
  await eventually(() => expect(store.shared.isAlive()).toBe(false));
  await eventually(() => expect(store.shared.isAlive()).toBe(true));
  expect(await other.shared.slots.take('tool', 1, 'b')).toBe(false);
  await store.shared.slots.free('tool', 'a');
  expect(await other.shared.slots.take('tool', 1, 'b')).toBe(true);
});

test('after an outage nobody is taken for dead before he has had time to come back', PATIENT, async () => {
  const [store, proxy] = await cuttable();
  await begun(store, 'own');
  proxy.cut();
  await begun(await home.open({ isMute: true }), 's');
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
  proxy.mend();
  await eventually(() => expect(store.shared.isAlive()).toBe(true));
  expect(await names(store)).toEqual([]);
  await expect(store.acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
  await eventually(async () => expect(await names(store)).toEqual(['s']));
});

test('a listening connection that falls silent costs no sign of life', PATIENT, async () => {
  const [store, proxy] = await cuttable();
  const other = await quick();
  await begun(store, 's');
  store.shared.present(WORKER);
  await proxy.hush((request) => request.includes('telltale_beat'));
  for (let look = 0; look < 15; look++) {
    expect(await names(other)).toEqual([]);
    expect(store.shared.isAlive()).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 5));
  }
});

test.each(['create', 'acquire'] as const)(
  'a stream whose %s went through without its answer is given up again',
  PATIENT,
  async (op) => {
    const other = await quick();
    if (op === 'acquire') await (await begun(other, 's')).release();
    const [store, proxy] = await cuttable({ ...QUICK, leaseMs: 60_000, patienceMs: 300 });
    await begun(store, 'own'); // it is an owner
    const swallowed = proxy.swallow((request) =>
      request.includes(op === 'create' ? 'A doubtful run' : '"acquire"'),
    );
    const taking = (
      op === 'acquire' ? store.acquire('s') : store.create('s', { ...RUN, title: 'A doubtful run' })
    ).then(
      () => 'taken',
      ({ code }) => code as string,
    );
    await swallowed;
    proxy.cut();
    expect(await taking).toBe('store_unreachable');
    proxy.mend();
    await eventually(async () => expect(await ownerOf(other, 's')).toBeUndefined());
    await append(await store.acquire('s'), { expectedSeq: op === 'acquire' ? 1 : 0, events: ['{}'] });
  },
);

test('a sign of life from before the clock was set back counts from now on', PATIENT, async () => {
  const [store, dead] = [await quick(), await home.open({ isMute: true, pid: 4_000_004 })];
  await begun(dead, 's');
  await home.sql("UPDATE {S}.owners SET beat_at = now() + interval '1 hour' WHERE pid = 4000004");
  expect(await names(store)).toEqual([]);
  await eventually(async () => expect(await names(store)).toEqual(['s']));
});

test('whether a time has come is told by the clock of whoever asks, as it was set by one', async () => {
  const behindMs = 300_000;
  const clock = createSystemClock();
  const store = await home.open({ clock: { ...clock, now: () => Date.now() - behindMs } });
  const make = async (stream: string, due: number) => {
    const writer = await store.create(stream, RUN);
    await append(writer, { expectedSeq: 0, events: ['{}'], status: 'waiting', due });
    await writer.release();
  };
  await make('later', Date.now() - behindMs + 60_000);
  await make('now', Date.now() - behindMs - 1);
  expect(await names(store)).toEqual(['now']);
});
