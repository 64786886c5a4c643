import { expect, test } from 'vitest';
import type { WorkerNote } from '../../src/store/shared-store.ts';
import type { Append, StreamHead, StreamWriter } from '../../src/store/store.ts';
import { append, outcome } from './appending.ts';
import { eventually, PATIENT } from './eventually.ts';
import { type PostgresHome, type SharedByAll, useHome } from './postgres-home.ts';

const RUN: StreamHead = { kind: 'run', name: 'flow', status: 'running', title: 'A run' };
const SESSION: StreamHead = { kind: 'session', name: 'agent', status: 'running', title: 'A session' };
/** So long that only what somebody says is heard. */
const NO_LOOKS = { timing: { lookMs: 3_600_000 } } as const;
const QUICK = { timing: { beatMs: 50, leaseMs: 500 } } as const;
const MESSAGE = { kind: 'steer', from: 'tester', body: 1 };

let home: PostgresHome;
useHome((made) => {
  home = made;
});

/** Ends the connections that listen, as a network does. */
const cutListeners = () =>
  home.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
      AND pid <> pg_backend_pid() AND query ~ '^(LISTEN|SELECT pg_notify)'`,
  );
const until = (claim: () => boolean | Promise<boolean>) =>
  eventually(async () => expect(await claim()).toBe(true));
/** With a first event: nobody goes on with a stream that has none. */
async function begun(
  store: SharedByAll,
  stream: string,
  head: StreamHead,
  change: Partial<Append> = {},
): Promise<StreamWriter> {
  const writer = await store.create(stream, head);
  await append(writer, { expectedSeq: 0, events: ['{}'], ...change });
  return writer;
}
const names = async (store: SharedByAll) => (await store.shared.orphans(100)).map(({ stream }) => stream);

test('orphans are what runs, is due or got a message, and nobody alive owns', PATIENT, async () => {
  const store = await home.open();
  const make = (stream: string, head: StreamHead, status?: string, due?: number) =>
    begun(store, stream, head, {
      ...(status === undefined ? {} : { status }),
      ...(due === undefined ? {} : { due }),
    });
  await (await make('waits', RUN, 'waiting')).release();
  await (await make('due later', RUN, 'waiting', Date.now() + 3_600_000)).release();
  await (await make('ended', SESSION, 'completed')).release();
  await (await make('called', { ...SESSION, parent: 'top' })).release();
  const owned = await make('owned', RUN);
  expect(await names(store)).toEqual([]);

  await (await make('top', SESSION)).release();
  await (await make('set off', { ...RUN, parent: 'called' })).release();
  await (await make('due', RUN, 'waiting', 1_000)).release();
  await (await make('asked', SESSION, 'waiting')).release();
  for (const stream of ['asked', 'ended', 'owned', 'called']) await store.send(stream, MESSAGE);
  expect(await store.shared.orphans(100)).toEqual([
    { stream: 'due', kind: 'run', name: 'flow', status: 'waiting', root: 'due', deaths: 0 },
    { stream: 'top', kind: 'session', name: 'agent', status: 'running', root: 'top', deaths: 0 },
    { stream: 'set off', kind: 'run', name: 'flow', status: 'running', root: 'top', deaths: 0 },
    { stream: 'asked', kind: 'session', name: 'agent', status: 'waiting', root: 'asked', deaths: 0 },
  ]);
  expect(await store.shared.orphans(1)).toHaveLength(1);
  await owned.release();
  expect(await names(store)).toContain('owned');
  // A message to what has ended is not looked at again, and is still there for whoever resumes it.
  expect(await home.sql('SELECT count(*) FROM {S}.inbox WHERE idle')).toEqual([{ count: '1' }]);
  expect(await store.info('ended')).toMatchObject({ messages: 1 });
});

test(
  'what comes for a session that another called makes an orphan of the one that goes on with it',
  PATIENT,
  async () => {
    const store = await home.open();
    const make = (stream: string, head: StreamHead, status: string) => begun(store, stream, head, { status });
    const below = (parent: string, head = SESSION): StreamHead => ({ ...head, parent });
    await (await make('top', SESSION, 'waiting')).release();
    await (await make('top.a', below('top'), 'waiting')).release();
    await (await make('top.a.b', below('top.a'), 'waiting')).release();
    await (await make('run', RUN, 'waiting')).release();
    await (await make('run.inner', below('run', RUN), 'waiting')).release();
    await (await make('run.inner.a', below('run.inner'), 'waiting')).release();
    // A run that leads a session goes on with that one.
    await (await make('led', SESSION, 'waiting')).release();
    await (await make('led~lead', below('led', RUN), 'waiting')).release();
    await (await make('led~lead.a', below('led~lead'), 'waiting')).release();
    const held = await make('held', SESSION, 'waiting');
    await (await make('held.a', below('held'), 'waiting')).release();
    await (await make('over', SESSION, 'completed')).release();
    await (await make('over.a', below('over'), 'running')).release();
    expect(await names(store)).toEqual([]);

    await store.send('top.a.b', MESSAGE); // a word for it
    for (const stream of ['run.inner.a', 'led~lead.a', 'held.a']) {
      const answering = await store.acquire(stream);
      await append(answering, { expectedSeq: 1, events: ['{}'], status: 'running' });
      await answering.release();
    }
    expect((await names(store)).toSorted()).toEqual(['led', 'run.inner', 'top']);
    await held.release();
    expect((await names(store)).toSorted()).toEqual(['held', 'led', 'run.inner', 'top']);
    expect((await store.shared.orphans(100)).find(({ stream }) => stream === 'run.inner')).toMatchObject({
      kind: 'run',
      status: 'waiting',
      root: 'run',
    });
  },
);

test('a caller that leaves what it called as it was is not taken up for it for ever', PATIENT, async () => {
  const store = await home.open();
  const make = async (stream: string, head: StreamHead) => {
    const writer = await store.create(stream, head);
    await append(writer, { expectedSeq: 0, events: ['{}'], status: 'waiting' });
    await writer.release();
  };
  await make('top', SESSION);
  await make('top.a', { ...SESSION, parent: 'top' });
  let head = 1;
  const takeInVain = async () => {
    expect(await names(store)).toEqual(['top']);
    const taken = await store.acquire('top');
    await append(taken, { expectedSeq: head++, events: ['{}'] });
    await taken.release();
  };
  for (const _word of [1, 2]) {
    await store.send('top.a', MESSAGE); // another word is another reason
    for (const _taking of [1, 2]) await takeInVain();
    expect(await names(store)).toEqual([]);
  }
});

test(
  'deaths of workers are counted by stream, until it gets on, or is let go of in peace',
  PATIENT,
  async () => {
    const store = await home.open();
    const deaths = async () =>
      Object.fromEntries((await store.shared.orphans(100)).map(({ stream, deaths: n }) => [stream, n]));
    /** As if all pauses were over. */
    const later = () => home.sql("UPDATE {S}.deaths SET at = at - interval '5 minutes'");
    for (const stream of ['poison', 'slow', 'done']) await (await begun(store, stream, RUN)).release();

    for (const n of [1, 2, 3]) {
      const worker = await home.open({ isMute: true });
      const poison = await worker.acquire('poison');
      const slow = await worker.acquire('slow');
      await worker.acquire('done');
      // What being taken up writes by itself is no progress.
      await append(poison, { expectedSeq: n, events: ['{}'] });
      await append(slow, { expectedSeq: 1 + (n - 1) * 11, events: Array.from({ length: 11 }, () => '{}') });
      const found = await deaths();
      if (n === 1) expect(found).toEqual({ poison: 1, slow: 1, done: 1 });
      // Whoever died with it a second time is left alone for a while.
      else expect(found).toEqual({ slow: 1 });
      await later();
      expect(await deaths()).toEqual({ poison: n, slow: 1, done: n });
    }
    await store.shared.forgive('done');
    expect(await deaths()).toEqual({ poison: 3, slow: 1, done: 0 });
  },
);

test('a stream without events is no orphan: nobody could go on with it', async () => {
  const store = await home.open();
  await (await store.create('empty', SESSION)).release();
  await store.send('empty', MESSAGE);
  expect(await names(store)).toEqual([]);
});

test('a stream that calls itself its parent has a root all the same', async () => {
  const store = await home.open();
  await (await begun(store, 'a', { ...RUN, parent: 'b' })).release();
  await (await begun(store, 'b', { ...RUN, parent: 'a' })).release();
  expect(await names(store)).toEqual(['a', 'b']);
});

test('what a dead owner held is an orphan, and he is shown as dead for a while', PATIENT, async () => {
  const [store, dead] = [await home.open(), await home.open({ isMute: true })];
  await begun(dead, 's', RUN);
  const holder = await store.create('mine', RUN);
  expect(await names(store)).toEqual(['s']);
  expect(await store.shared.workers()).toMatchObject([
    { alive: false, holds: 0 },
    { alive: true, holds: 1, pid: process.pid },
  ]);
  const taken = await store.acquire('s');
  expect(taken.epoch).toBe(2);
  await append(holder, { expectedSeq: 0, events: ['{}'] });
});

test('an owner lives as long as he gives signs of life, and no longer', PATIENT, async () => {
  // So long that only what is set back in the database counts, however busy the machine is.
  const leaseMs = 20_000;
  const beating = { timing: { beatMs: 20, leaseMs } };
  const [store, other] = [await home.open(beating), await home.open(beating)];
  const silent = await home.open({ timing: { beatMs: 3_600_000, leaseMs } });
  await begun(store, 's', RUN);
  const writer = await begun(silent, 't', RUN);
  const ownerOf = (stream: string) =>
    home.sql('SELECT owner FROM {S}.heads JOIN {S}.streams s USING (id) WHERE s.stream = $1', [stream]);
  const silenced = await ownerOf('t');
  // As if nothing had been heard of either for ages.
  await home.sql("UPDATE {S}.owners SET beat_at = '-infinity'");
  await until(async () => {
    const heard = await home.sql('SELECT 1 FROM {S}.owners WHERE isfinite(beat_at)');
    return heard.length > 0;
  });
  expect(await names(other)).toEqual(['t']);
  expect(store.shared.isAlive()).toBe(true);
  await expect(other.acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
  const taken = await other.acquire('t');
  expect(await outcome(writer, { expectedSeq: 1, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
  await append(taken, { expectedSeq: 1, events: ['{}'] });
  // He comes back as another.
  await silent.create('next', RUN);
  expect(silent.shared.isAlive()).toBe(true);
  expect(await ownerOf('next')).not.toEqual(silenced);
  expect((await silent.info('next'))?.owner).toMatchObject({ pid: process.pid });
});

test(
  'reads that take longer than the lease cost nobody what he holds, also when a connection is cut',
  PATIENT,
  async () => {
    // Long beside what a busy machine keeps anybody waiting, and short beside the reads.
    const patient = { timing: { beatMs: 50, leaseMs: 1_500 } };
    const [store, other] = [await home.open(patient), await home.open(patient)];
    await store.create('s', RUN);
    const reads = Array.from({ length: 6 }, () => store.shared.database.execute('SELECT pg_sleep(2.8)', []));
    let looks = 0;
    const isHeld = async () => {
      looks += 1;
      expect(await names(other)).toEqual([]);
      expect(store.shared.isAlive()).toBe(true);
    };
    const over = Promise.all(reads);
    let isOver = false;
    void over.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await isHeld();
      // The first beats find no other way than that of the reads.
      if (looks < 4)
        await home.sql(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
          AND pid <> pg_backend_pid() AND query ~ '(^LISTEN|pg_notify|SET beat_at)'`,
        );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await over;
    expect(looks).toBeGreaterThan(5);
  },
);

test('an owner who was declared dead in the instant in which he took a stream does not keep it', async () => {
  const [store, other] = [await home.open(), await home.open()];
  await begun(store, 's', RUN);
  await home.sql('UPDATE {S}.owners SET gone_at = now()');
  expect(await names(other)).toEqual(['s']);
  expect((await other.info('s'))?.owner).toBeUndefined();
});

test('a database that was down is no reason to take owners for dead', async () => {
  const [store, other] = [await home.open(QUICK), await home.open()];
  await store.create('s', RUN);
  await store.close();
  const [age] = await home.sql(
    'SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000 AS up',
  );
  await home.sql(
    `INSERT INTO {S}.owners (pid, started_at, host, peer, beat_at) VALUES (1, 1, 'elsewhere', 'x', now() - interval '1 day')`,
  );
  // Its last sign of life was before the server started: it is counted from then.
  const lease = Number(age?.up) + 60_000;
  const patient = await home.open({ timing: { leaseMs: lease } });
  expect(await patient.shared.workers()).toMatchObject([{ pid: 1, alive: true }]);
  expect(await other.shared.workers()).toHaveLength(1);
});

test('workers say what they are, and are gone when they close', PATIENT, async () => {
  const [store, other] = [await home.open(QUICK), await home.open(QUICK)];
  const note: WorkerNote = { role: 'worker', host: 'a', version: '1.2.3', capacity: 8, working: 0 };
  store.shared.present(note);
  await eventually(async () =>
    expect(await other.shared.workers()).toEqual([
      {
        ...note,
        id: expect.any(Number),
        pid: process.pid,
        holds: 0,
        startedAt: expect.any(Number),
        quietMs: expect.any(Number),
        alive: true,
      },
    ]),
  );
  store.shared.present({ ...note, working: 3, draining: true });
  await eventually(async () =>
    expect(await other.shared.workers()).toMatchObject([{ working: 3, draining: true }]),
  );
  await store.close();
  expect(await other.shared.workers()).toEqual([]);
});

test('a worker that was taken for dead is there again as another', PATIENT, async () => {
  const store = await home.open(QUICK);
  store.shared.present({ role: 'worker', host: 'a', version: '1', capacity: 1, working: 0 });
  await until(() => store.shared.isAlive());
  await home.sql('UPDATE {S}.owners SET gone_at = now()');
  await until(() => !store.shared.isAlive());
  await until(() => store.shared.isAlive());
  expect(await store.shared.workers()).toMatchObject([{ alive: false }, { alive: true, role: 'worker' }]);
});

test('whoever looks for orphans hears of streams that were let go of and of messages', PATIENT, async () => {
  const [store, other] = [await home.open(NO_LOOKS), await home.open(NO_LOOKS)];
  let [calls, own] = [0, 0];
  const end = other.shared.onOrphans(() => calls++);
  store.shared.onOrphans(() => own++);
  // Each has to know first that the other listens; what is rung before that may be lost, or come twice.
  for (let n = 0; calls === 0 || own === 0; n++) {
    await (await store.create(`first ${n}`, RUN)).release();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  for (let before = -1; before !== calls + own; ) {
    before = calls + own;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  [calls, own] = [0, 0];
  const writer = await store.create('s', RUN);
  await writer.release();
  await until(() => calls === 1 && own === 1);
  await store.send('s', MESSAGE);
  await until(() => calls === 2 && own === 2);
  const waiting = await store.create('w', { ...RUN, status: 'waiting' });
  await waiting.release();
  const running = await store.create('r', RUN);
  await running.release();
  await until(() => calls === 3);
  end();
  await store.create('c', RUN);
  await store.close();
  expect(calls).toBe(3);
});

test('slots are as many as there are, over all stores, and a dead holder has none', PATIENT, async () => {
  const [store, other, dead] = [await home.open(), await home.open(), await home.open({ isMute: true })];
  const takes = await Promise.all(
    Array.from({ length: 12 }, (_, n) => (n % 2 ? store : other).shared.slots.take('tool', 3, `h${n}`)),
  );
  expect(takes.filter((taken) => taken)).toHaveLength(3);
  const holder = `h${takes.indexOf(true)}`;
  expect(await store.shared.slots.take('tool', 3, holder)).toBe(true);
  expect(await store.shared.slots.take('other tool', 1, 'x')).toBe(true);
  await store.shared.slots.free('tool', holder);
  expect(await other.shared.slots.take('tool', 3, 'late')).toBe(true);
  expect(await dead.shared.slots.take('third tool', 1, 'dead')).toBe(true);
  expect(await store.shared.slots.take('third tool', 1, 'alive')).toBe(true);
  await store.shared.orphans(1);
  expect(await home.sql("SELECT holder FROM {S}.slots WHERE key = 'third tool'")).toEqual([
    { holder: 'alive' },
  ]);
  await store.close();
  expect(await home.sql("SELECT holder FROM {S}.slots WHERE key = 'third tool'")).toEqual([]);
});

test('a slot that is free is heard of elsewhere, that of another key is not', PATIENT, async () => {
  const [store, other] = [await home.open(), await home.open()];
  const heard: string[] = [];
  other.shared.slots.onFree('a', () => heard.push('a'));
  other.shared.slots.onFree('b', () => heard.push('b'));
  await store.shared.slots.take('a', 1, 'x');
  // Who wants to hear of it says so behind the call: what is freed before that is known, nobody hears of.
  await until(async () => {
    await store.shared.slots.take('b', 1, 'x');
    await store.shared.slots.free('b', 'x');
    return heard.length > 0;
  });
  expect(new Set(heard)).toEqual(new Set(['b']));
});

test(
  'live messages reach those that listen elsewhere, in order, each once, and nobody else',
  PATIENT,
  async () => {
    const [store, other, third] = await Promise.all([home.open(), home.open(), home.open()]);
    const heard: string[] = [];
    const own: string[] = [];
    const end = other.shared.live.listen('c', { heard: (text) => heard.push(text), gap: () => undefined });
    store.shared.live.listen('c', { heard: (text) => own.push(text), gap: () => undefined });
    store.shared.live.listen('unheard', { heard: () => undefined, gap: () => undefined });
    await until(() => store.shared.live.isHeard('c'));
    await until(() => !store.shared.live.isHeard('unheard')); // known by now, and not only guessed
    const texts = [...Array.from({ length: 100 }, (_, n) => `{"n":${n % 2}}`), 'ü𝄞"\n', 'x'.repeat(7_000)];
    for (const text of texts) store.shared.live.send('c', text);
    store.shared.live.send('unheard', 'nobody');
    await until(() => heard.length === texts.length);
    expect(heard).toEqual(texts);
    expect(own).toEqual([]);
    expect(() => store.shared.live.send('c', 'ü'.repeat(3_501))).toThrowError(
      expect.objectContaining({ code: 'live_too_long' }),
    );
    end();
    await until(() => !store.shared.live.isHeard('c'));
    expect(third.shared.live.isHeard('unheard')).toBe(true);
  },
);

test(
  'after a connection was cut, everybody who listens is told that he may have missed something',
  PATIENT,
  async () => {
    const [store, other] = [await home.open(NO_LOOKS), await home.open(NO_LOOKS)];
    const writer = await store.create('s', RUN);
    let [gaps, again, orphans, moved, woken] = [0, 0, 0, 0, 0];
    const heard: string[] = [];
    other.shared.live.listen('c', { heard: (text) => heard.push(text), gap: () => gaps++ });
    other.shared.onOrphans(() => orphans++);
    other.watch('s', () => moved++);
    writer.onWake(() => woken++);
    const listening = await other.shared.database.listen(
      'jobs',
      (payload) => heard.push(payload),
      () => again++,
    );
    await until(() => {
      store.shared.live.send('c', 'before');
      return heard.includes('before');
    });
    await append(writer, { expectedSeq: 0, events: ['{}'] });
    await until(() => moved === 1);
    expect([gaps, again]).toEqual([0, 0]);

    await cutListeners();
    await append(writer, { expectedSeq: 1, events: ['{}'] });
    await other.send('s', MESSAGE);
    await until(() => gaps > 0 && again === 1 && orphans > 0 && moved > 1 && woken > 0);
    // And the wire works as before.
    await until(() => store.shared.live.isHeard('c'));
    store.shared.live.send('c', 'after');
    await other.shared.database.execute("SELECT pg_notify('jobs', $1)", ['news']);
    await until(() => heard.includes('after') && heard.includes('news'));
    await listening.close();
  },
);

test('the database takes statements, several at once, and says what was wrong with one', async () => {
  const { shared } = await home.open();
  expect(await shared.database.execute('SELECT $1::int AS n', [7])).toEqual({ rows: [{ n: 7 }] });
  expect(await shared.database.execute('BEGIN; SELECT 1 AS n; COMMIT')).toEqual({ rows: [{ n: 1 }] });
  await expect(shared.database.execute('SELECT nonsense()')).rejects.toMatchObject({ code: 'store_damaged' });
  expect(shared).toMatchObject({ fleet: 'telltale', schema: home.schema });
});

test('events and messages of other processes are heard of at once, without looking', PATIENT, async () => {
  const [store, other] = [await home.open(NO_LOOKS), await home.open(NO_LOOKS)];
  const writer = await store.create('s', RUN);
  let [moved, woken] = [0, 0];
  other.watch('s', () => moved++);
  writer.onWake(() => woken++);
  for (let seq = 0; seq < 5; seq++) {
    await append(writer, { expectedSeq: seq, events: ['{}'] });
    await until(() => moved > seq);
  }
  await other.send('s', MESSAGE);
  await until(() => woken === 1);
  await other.close();
  const brief = await home.open(NO_LOOKS);
  await brief.send('s', MESSAGE);
  await brief.close(); // a command that only sends: it says so before it ends
  await until(() => woken === 2);
});

test('what nobody told of is found by looking', PATIENT, async () => {
  const store = await home.open({ timing: { lookMs: 20 } });
  const writer = await store.create('s', RUN);
  let [moved, woken] = [0, 0];
  writer.onWake(() => woken++);
  const elsewhere = await home.open({ timing: { lookMs: 20 } });
  elsewhere.watch('s', () => moved++);
  const [stream] = await home.sql("SELECT id FROM {S}.streams WHERE stream = 's'");
  await home.sql(`INSERT INTO {S}.inbox (stream, at, message) VALUES ($1, 1, '{}')`, [stream?.id]);
  await until(() => woken === 1 && moved === 1);
  await home.sql('UPDATE {S}.heads SET head = 9 WHERE id = $1', [stream?.id]);
  await until(() => moved === 2);
});
