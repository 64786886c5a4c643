import { hostname } from 'node:os';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StreamWriter } from '../../src/store/store.ts';
import { append, outcome } from './appending.ts';
import { type CutProxy, openCutProxy } from './cut-proxy.ts';
import { eventually, PATIENT } from './eventually.ts';
import { type PostgresHome, postgresHome } from './postgres-home.ts';
import { startPostgresProcess } from './start-store-process.ts';

const RUN = { kind: 'run', name: 'flow', status: 'running', title: 'A run' } as const;
const CALL = 'telltale_write_group_1';

let home: PostgresHome;
let proxy: CutProxy;
beforeAll(async () => {
  home = await postgresHome();
  proxy = await openCutProxy(home.url);
}, PATIENT.timeout);
afterEach(async () => {
  proxy.mend();
  await home.next();
});
afterAll(async () => {
  await home.remove();
  await proxy.close();
});

/** By way of the proxy. */
const cuttable = () => {
  const url = new URL(proxy.url);
  url.search = `?schema=${home.schema}`;
  return url.href;
};
const isCall = (request: string) => request.includes(CALL);

test('what was on its way when all connections were cut is done once', PATIENT, async () => {
  const store = await home.open();
  const writers = await Promise.all(['a', 'b', 'c'].map((name) => store.create(name, RUN)));
  const EACH = 120;
  let left = EACH;
  const write = async (writer: StreamWriter, name: string) => {
    for (let n = 0; n < EACH; n++) {
      const value = n;
      await append(writer, {
        expectedSeq: n,
        events: [`{"n":${n}}`],
        ...(n % 3 === 0 ? { writes: [{ table: 't', key: name, value }] } : {}),
      });
      await store.tables.increment('count', 'all', 1);
      if (name === 'a') left--;
    }
  };
  /** Each time after some progress. */
  const cut = async () => {
    for (let below = EACH - 5; below > 0; below -= 30) {
      await eventually(() => expect(left).toBeLessThan(below));
      await home.sql(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    }
  };
  await Promise.all([...writers.map((writer, n) => write(writer, 'abc'[n] as string)), cut()]);
  for (const name of ['a', 'b', 'c'])
    expect(await store.read(name)).toEqual(Array.from({ length: EACH }, (_, n) => `{"n":${n}}`));
  expect(await store.tables.get('count', 'all')).toBe(3 * EACH);
});

test('a group whose answer was lost is found to be done, whatever was in it', PATIENT, async () => {
  const store = await home.open({ url: cuttable() });
  const writer = await store.create('s', RUN);
  await store.tables.set('t', 'n', 5);
  const lost = proxy.swallow(isCall);
  const { writer: begun, made } = store.begin('begun', RUN);
  const results = Promise.all([
    outcome(writer, { expectedSeq: 0, events: ['{"n":1}'] }),
    outcome(begun, { expectedSeq: 0, events: ['{"n":2}'] }),
    store.tables.increment('t', 'n', 1),
    store.tables.push('l', 'once'),
    store.tables.exchange([{ table: 't', key: 'x', value: undefined }], [{ table: 't', key: 'x', value: 1 }]),
    store.send('s', { kind: 'steer', from: 'tester', body: 1 }),
    made,
  ]);
  await lost;
  expect(await results).toEqual([undefined, undefined, 6, 1, true, expect.any(Number), undefined]);
  expect(await store.read('s')).toEqual(['{"n":1}']);
  expect(await store.read('begun')).toEqual(['{"n":2}']);
  expect(await store.tables.get('t', 'n')).toBe(6);
  expect(await store.tables.entries('l')).toHaveLength(1);
  expect(await writer.inbox()).toHaveLength(1);
  await append(writer, { expectedSeq: 1, events: ['{"n":3}'] });
  await append(begun, { expectedSeq: 1, events: ['{"n":4}'] });
});

test(
  'a group that is still at work on the server when its connection breaks is not done beside itself',
  PATIENT,
  async () => {
    const store = await home.open({ url: cuttable() });
    const writer = await store.create('s', RUN);
    await append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
    // The row of the stream is locked: what is sent now has to wait on the server.
    await home.sql('BEGIN');
    await home.sql('SELECT 1 FROM {S}.heads FOR UPDATE');
    const done = Promise.all([
      outcome(writer, { expectedSeq: 1, events: ['{"n":2}'] }),
      store.tables.increment('t', 'n', 1),
    ]);
    const LOCKED = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE '%write_group_1%'`;
    const waiting = (calls: number) =>
      eventually(async () => {
        await home.sql('SELECT pg_stat_clear_snapshot()'); // within a transaction it is looked at once
        expect(await home.sql(LOCKED)).toEqual([{ n: calls }]);
      });
    await waiting(1);
    proxy.cut();
    proxy.mend();
    await waiting(2);
    await home.sql('COMMIT');
    expect(await done).toEqual([undefined, 1]);
    expect(await store.read('s')).toEqual(['{"n":1}', '{"n":2}']);
    expect(await store.tables.get('t', 'n')).toBe(1);
  },
);

test(
  'a database that stays away is waited for, then said to be unreachable, and used again when it is back',
  PATIENT,
  async () => {
    const store = await home.open({ url: cuttable(), timing: { patienceMs: 300 } });
    const writer = await store.create('s', RUN);
    await append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
    proxy.cut();
    const gone = { code: 'store_unreachable', retryable: true };
    expect(await outcome(writer, { expectedSeq: 1, events: ['{"n":"lost"}'] })).toMatchObject(gone);
    await expect(store.read('s')).rejects.toMatchObject(gone);
    await expect(store.tables.set('t', 'k', 1)).rejects.toMatchObject(gone);
    await expect(store.create('t', RUN)).rejects.toMatchObject(gone);
    await expect(store.shared.workers()).rejects.toMatchObject(gone);
    proxy.mend();
    await append(writer, { expectedSeq: 1, events: ['{"n":2}'] });
    expect(await store.read('s')).toEqual(['{"n":1}', '{"n":2}']);
    await append(await store.create('t', RUN), { expectedSeq: 0, events: ['{}'] });
  },
);

test(
  'a writer that was told unreachable of what was committed is refused when it goes on',
  PATIENT,
  async () => {
    const store = await home.open({ url: cuttable(), timing: { patienceMs: 0 } });
    const writer = await store.create('s', RUN);
    const lost = proxy.swallow(isCall);
    const result = outcome(writer, { expectedSeq: 0, events: ['{"n":1}'] });
    await lost;
    expect(await result).toMatchObject({ code: 'store_unreachable' });
    expect(await outcome(writer, { expectedSeq: 0, events: ['{"n":1}'] })).toMatchObject({
      code: 'stream_moved',
    });
    expect(await store.read('s')).toEqual(['{"n":1}']);
  },
);

test(
  'a store whose database is gone closes all the same, and says that its streams stay until it is dead',
  PATIENT,
  async () => {
    const store = await home.open({ url: cuttable(), timing: { patienceMs: 100 } });
    await store.create('s', RUN);
    proxy.cut();
    await expect(store.close()).rejects.toMatchObject({ code: 'store_unreachable' });
  },
);

test(
  'groups of two stores that write the same keys in opposite orders do not wait for each other',
  PATIENT,
  async () => {
    const stores = await Promise.all([home.open(), home.open(), home.open()]);
    const keys = Array.from({ length: 30 }, (_, n) => `k${n}`);
    const started = performance.now();
    await Promise.all(
      stores.flatMap((store, n) =>
        Array.from({ length: 20 }, async () => {
          const order = n % 2 ? keys : keys.toReversed();
          await Promise.all(order.map((key) => store.tables.increment('t', key, 1)));
        }),
      ),
    );
    for (const key of keys) expect(await stores[0]?.tables.get('t', key)).toBe(60);
    // A deadlock is noticed by the server after a second, each time.
    const [{ deadlocks } = {}] = await home.sql(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe('0');
    expect(performance.now()).toBeGreaterThan(started);
  },
);

test(
  'no write waits for a read that takes its time, and a store is closed when all are answered',
  PATIENT,
  async () => {
    const store = await home.open();
    const writer = await store.create('s', RUN);
    await store.tables.set('t', 'k', 'read');
    await home.sql('BEGIN');
    await home.sql('LOCK TABLE {S}.kv');
    let isRead = false;
    const read = store.tables.get('t', 'k').finally(() => {
      isRead = true;
    });
    for (let seq = 0; seq < 3; seq++) await append(writer, { expectedSeq: seq, events: ['{}'] });
    expect(await store.read('s')).toHaveLength(3);
    expect(isRead).toBe(false);
    const closed = store.close();
    await home.sql('COMMIT');
    expect(await read).toBe('read');
    await closed;
  },
);

test('a process that was paused for longer than its lease is refused when it wakes', PATIENT, async () => {
  const store = await home.open({ timing: { beatMs: 100, leaseMs: 1_000 } });
  const child = startPostgresProcess('hold', home.url, 's');
  await child.says('holds');
  await expect(store.acquire('s')).rejects.toMatchObject({
    code: 'stream_owned',
    message: expect.stringContaining(`process ${child.pid} on ${hostname()}`),
  });
  process.kill(child.pid, 'SIGSTOP');
  const writer = await eventually(() => store.acquire('s'));
  const head = writer.head;
  process.kill(child.pid, 'SIGCONT');
  await child.says('refused stream_lost');
  await append(writer, { expectedSeq: head, events: ['{"by":"second"}'] });
  expect((await store.read('s')).at(-1)).toBe('{"by":"second"}');
  await child.ended;
});

test('a process that dies is an owner no more, and what it held is found', PATIENT, async () => {
  const store = await home.open({ timing: { beatMs: 100, leaseMs: 1_000 } });
  const child = startPostgresProcess('hold', home.url, 's');
  await child.says('holds');
  await child.kill();
  await eventually(async () => expect(await store.shared.orphans(10)).toMatchObject([{ stream: 's' }]));
  await store.acquire('s');
});

test('a process ends by itself though its store is open, once everything is settled', PATIENT, async () => {
  const child = startPostgresProcess('leave', home.url, 's');
  await child.says('committed');
  expect(await child.ended).toBe(0);
});
