import { beforeEach, describe, expect, test } from 'vitest';
import type { SimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../src/store/memory/memory-tables.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { copyStore } from '../../src/store/upkeep/copy-store.ts';
import { RESTORING } from '../../src/store/upkeep/upkeep.ts';
import { append } from './appending.ts';
import { COMPLETED, keepSession, linesOf, putSession, sessionLog, thought } from './stored-logs.ts';
import { meddle, setUpUpkeep } from './upkeep-stage.ts';

/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;

const stage = setUpUpkeep();
const { inMemory, sqlite, exported, fill } = stage;
let clock: SimulatedClock;
beforeEach(() => {
  ({ clock } = stage);
});

describe('a copy', () => {
  test('is the same store, in order, and both are read again to see it', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const report = await copyStore(from, to, { clock });
    expect(report).toMatchObject({ copied: 4, same: 0, events: 35, rows: 2, entries: 2, running: [] });
    expect(report.checked).toMatchObject({ events: 35, rows: 2, entries: 2, unlike: [] });
    expect(report.checked.streams.map(({ stream, events }) => [stream, events])).toEqual([
      ['run_a', 2],
      ['run_w', 2],
      ['ses_a', 27],
      ['ses_b', 4],
    ]);
    expect(await exported(to)).toBe(await exported(from));
    expect(await to.list()).toEqual(await from.list());
    expect((await checkStore(to)).faults).toEqual([]);
    expect(await to.upkeep.rows({ limit: 9 })).toHaveLength(2);
    // Rows live as long as they had left.
    await clock.advance(60_000);
    expect(await to.tables.get('t', 'soon')).toBeUndefined();
  });

  test('goes into a store that is empty, or adds to one when it is told to', async () => {
    const [from, to] = [inMemory(), sqlite()];
    await fill(from);
    await keepSession(to, 'ses_own');
    await to.tables.set('own', 'k', 1);
    const before = await exported(to);
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({ code: 'store_not_empty' });
    expect(await exported(to)).toBe(before);
    expect(await copyStore(from, to, { clock, merge: true })).toMatchObject({ copied: 4, same: 0 });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 3, rows: 3 });
    expect(await copyStore(from, to, { clock, merge: true })).toMatchObject({ copied: 0, same: 4, rows: 0 });
    await expect(copyStore(to, to, { clock })).rejects.toMatchObject({ code: 'usage' });
  });

  test('names what was begun in the source meanwhile, and brings only that when it is made again', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    let late: Promise<unknown> | undefined;
    const copying = copyStore(from, to, {
      clock,
      onProgress({ doing }) {
        if (doing === 'streams') late ??= keepSession(from, 'ses_late');
      },
    });
    await expect(copying).rejects.toMatchObject({
      code: 'copy_unlike',
      message: expect.stringContaining('not in the copy: ses_late.'),
      hint: expect.stringContaining('only what is missing'),
    });
    await late;
    expect(await copyStore(from, to, { clock })).toMatchObject({ copied: 1, same: 4, checked: { came: [] } });
    expect(await to.list()).toEqual(await from.list());
  });

  test('what the other has of its own is named, and nothing is written', async () => {
    const [from, to] = [inMemory(), sqlite()];
    await fill(from);
    await keepSession(to, 'ses_a');
    await keepSession(to, 'run_a', { bodies: [] });
    await to.tables.set('t', 'k', 'own');
    await to.tables.push('audit', 'own');
    const before = await exported(to);
    const refused = copyStore(from, to, { clock, merge: true });
    await expect(refused).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringMatching(/run_a, ses_a, "k" in table "t", list "audit"/),
    });
    expect(await exported(to)).toBe(before);
    expect(await to.tables.keys('store.copy')).toEqual([]);
  });

  test('streams that somebody works on are refused with their owner; with `running` they come, and stay closed until the rest has come', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const writer = await putSession(from, 'ses_live', { bodies: [thought('a')] });
    await from.tables.set('t', 'goes', 1);
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringContaining(`ses_live (process ${process.pid})`),
    });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 0, rows: 0 });
    expect(await copyStore(from, to, { clock, running: true })).toMatchObject({
      copied: 5,
      running: ['ses_live'],
    });
    expect(await to.read('ses_live')).toHaveLength(2);
    await expect(to.acquire('ses_live')).rejects.toMatchObject({ code: 'stream_restoring' });
    await append(writer, {
      expectedSeq: 2,
      events: linesOf(sessionLog('ses_live', [thought('a'), COMPLETED])).slice(2),
      status: 'completed',
    });
    await writer.release();
    await from.tables.delete('t', 'goes');
    await from.tables.set('t', 'k', 'newer');
    await from.tables.push('audit', { who: 'eve' });
    expect(await copyStore(from, to, { clock })).toMatchObject({
      copied: 1,
      same: 4,
      entries: 1,
      running: [],
    });
    expect(await exported(to)).toBe(await exported(from));
    await (await to.acquire('ses_live')).release();
    // It is whole now, and a store of its own.
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({ code: 'store_not_empty' });
  });

  test('that was broken off goes on where it was with the same call, and with no other source', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const long = Array.from({ length: 3_000 }, (_, n) => thought(`${n} ${'x'.repeat(900)}`));
    const writer = await from.create('ses_long', {
      kind: 'session',
      name: 'n',
      status: 'completed',
      title: '',
    });
    const lines = linesOf(sessionLog('ses_long', [...long, COMPLETED]));
    for (let at = 0; at < lines.length; at += 200)
      await append(writer, { expectedSeq: at, events: lines.slice(at, at + 200) });
    await writer.release();
    const stop = new AbortController();
    const broken = copyStore(from, to, {
      clock,
      signal: stop.signal,
      onProgress: ({ doing, events }) => {
        if (doing === 'streams' && events > 1_000) stop.abort();
      },
    });
    await expect(broken).rejects.toMatchObject({ name: 'AbortError' });
    const half = (await to.info('ses_long'))?.head ?? 0;
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(3_002);
    expect((await checkStore(to)).faults).toMatchObject([{ grade: 'damage', stream: 'ses_long' }]);
    const other = inMemory();
    await expect(copyStore(other, to, { clock })).rejects.toMatchObject({
      code: 'store_not_empty',
      message: expect.stringContaining(from.location),
    });
    const report = await copyStore(from, to, { clock });
    expect(report).toMatchObject({ copied: 1, same: 4, events: 3_002 - half });
    expect(await exported(to)).toBe(await exported(from));
  });

  test('is not called the same where somebody has changed one of the two meanwhile', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const meddled = copyStore(from, to, {
      clock,
      onProgress: ({ doing }) => {
        if (doing === 'graphs') meddle(to, "UPDATE log SET body = replace(body, 'ü', 'u')");
      },
    });
    await expect(meddled).rejects.toMatchObject({
      code: 'copy_unlike',
      message: expect.stringContaining('ses_a, ses_b'),
    });
  });

  test('brings knowledge graphs along', async () => {
    const [from, to] = [sqlite(), sqlite()];
    const graphs = await from.graphs();
    const file = { path: 'a.ts', hash: 'h', size: 1, mtimeMs: 1, readAtMs: 1 };
    await graphs.write('g', { records: [{ ...file, symbols: [], imports: [], calls: [] }], commit: 'c' });
    await graphs.learn('g', [{ kind: 'fact', text: 'It is so.', about: [{ path: 'a.ts' }], atMs: 1 }]);
    expect(await copyStore(from, to, { clock })).toMatchObject({ graphs: { graphs: 1, files: 1, facts: 1 } });
    const theirs = await to.graphs();
    expect(await theirs.stats('g')).toEqual(await graphs.stats('g'));
    expect(await theirs.factsAbout('g', { path: 'a.ts' }, 9)).toMatchObject([
      { text: 'It is so.', stale: [] },
    ]);
  });

  test('of nothing is nothing, and of a hundred thousand events is quick', async () => {
    const [empty, from, to] = [sqlite(), sqlite(), inMemory()];
    expect(await copyStore(empty, inMemory(), { clock })).toMatchObject({ copied: 0, events: 0 });
    const writer = await from.create('ses_x', { kind: 'session', name: 'n', status: 'completed', title: '' });
    const lines = linesOf(
      sessionLog('ses_x', [...Array.from({ length: 100_000 }, (_, n) => thought(`${n}`)), COMPLETED]),
    );
    for (let at = 0; at < lines.length; at += 10_000)
      await append(writer, { expectedSeq: at, events: lines.slice(at, at + 10_000) });
    await writer.release();
    expect(await copyStore(from, to, { clock })).toMatchObject({ copied: 1, events: 100_002 });
  });
});

describe('a copy that cannot be right', () => {
  test('of a store with streams that are not whole is refused, with their names', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const head = { kind: 'session', name: 'n', title: '', status: RESTORING } as const;
    await (await from.create('ses_half', head)).release();
    await expect(copyStore(from, to, { clock, running: true })).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringContaining('broken off: ses_half.'),
      hint: expect.stringContaining('run the same command again'),
    });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 0, rows: 0 });
  });

  test('names each row and list that somebody has changed in one of the two meanwhile', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const meddled = copyStore(from, to, {
      clock,
      onProgress: ({ doing }) => {
        if (doing === 'graphs')
          meddle(to, "UPDATE kv SET value = '0' WHERE key = 'k'; DELETE FROM lists WHERE n = 2");
      },
    });
    await expect(meddled).rejects.toMatchObject({
      code: 'copy_unlike',
      message: expect.stringContaining('in both: "k" in table "t", list "audit".'),
      hint: expect.stringContaining('run the same command again'),
      retryable: true,
    });
  });

  test('names a stream that was taken out of the source meanwhile', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const copying = copyStore(from, to, {
      clock,
      onProgress: ({ doing }) => {
        if (doing === 'tables')
          meddle(
            from,
            `DELETE FROM heads WHERE id = (SELECT id FROM streams WHERE stream = 'run_w');
            DELETE FROM streams WHERE stream = 'run_w'`,
          );
      },
    });
    await expect(copying).rejects.toMatchObject({
      code: 'copy_unlike',
      message: expect.stringContaining('in both: run_w.'),
    });
  });

  test('does not go on with a stream that somebody has changed in it since it was broken off', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    await putSession(from, 'ses_live', { bodies: [thought('a'), thought('b')] });
    await copyStore(from, to, { clock, running: true });
    meddle(to, `UPDATE log SET body = replace(body, '"text":"b"', '"text":"z"')`);
    const before = await to.read('ses_live');
    await expect(copyStore(from, to, { clock, running: true })).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringContaining('has its own of these: ses_live.'),
    });
    expect(await to.read('ses_live')).toEqual(before);
  });

  test('does not go on with a store in which there are streams that the source has not', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    await putSession(from, 'ses_live', { bodies: [thought('a')] });
    await copyStore(from, to, { clock, running: true });
    await keepSession(to, 'ses_own');
    await expect(copyStore(from, to, { clock, running: true })).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringContaining('ses_own'),
    });
  });

  test('lets go of all streams when it cannot take one of them', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const { create } = to;
    const failing: Store = {
      ...to,
      create: (stream, head) =>
        stream === 'run_a' ? Promise.reject(new Error('of the disk')) : create(stream, head),
    };
    await expect(copyStore(from, failing, { clock })).rejects.toThrow('of the disk');
    const left = await to.list();
    expect(left.map(({ stream }) => stream).sort()).toEqual(['run_w', 'ses_a', 'ses_b']);
    for (const info of left) expect(info).not.toHaveProperty('owner');
    expect(await copyStore(from, to, { clock })).toMatchObject({ copied: 4 });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 2, runs: 2, events: 35 });
  });
});

test('a copy of more rows than one commit takes has all of them', async () => {
  const [from, to] = [inMemory(), sqlite()];
  await Promise.all(Array.from({ length: 1_201 }, (_, n) => from.tables.set('t', `k${n}`, n)));
  for (const key of ['a', 'b', 'c']) await from.tables.set('large', key, 'x'.repeat(700_000));
  expect(await copyStore(from, to, { clock })).toMatchObject({ rows: 1_204, checked: { rows: 1_204 } });
  expect(await exported(to)).toBe(await exported(from));
});

test('a store in memory that was left by a dead process is copied all the same', async () => {
  const home = createMemoryHome();
  const isAlive = ({ pid }: { readonly pid: number }) => pid !== NOBODY;
  await putSession(createMemoryStore({ clock, home, pid: NOBODY, isAlive }), 'ses_a', {
    bodies: [thought('a')],
  });
  const to = sqlite();
  await copyStore(createMemoryStore({ clock, home, isAlive }), to, { clock });
  expect(await to.info('ses_a')).toMatchObject({ status: 'running', head: 2 });
});

describe('a copy with knowledge graphs', () => {
  const file = (path: string) => ({ path, hash: 'h', size: 1, mtimeMs: 1, readAtMs: 1 });

  test('has all files, facts and sessions of each, and is the same when it is made again', async () => {
    const [from, to] = [sqlite(), sqlite()];
    const ours = await from.graphs();
    const paths = Array.from({ length: 45 }, (_, n) => `f${n}.ts`);
    await ours.write('g', {
      records: paths.map((path) => ({ ...file(path), symbols: [], imports: [], calls: [] })),
      commit: 'c',
      walkedAtMs: 77,
    });
    await ours.write('bare', { records: [{ ...file('a.ts'), symbols: [], imports: [], calls: [] }] });
    await ours.learn(
      'g',
      Array.from({ length: 205 }, (_, n) => ({
        kind: 'fact' as const,
        text: `It is ${n}.`,
        about: [{ path: 'f1.ts' }],
        atMs: n,
      })),
    );
    await ours.noteSession('g', {
      session: 'ses_1',
      title: 'Looked',
      atMs: 5,
      commit: 'c',
      read: ['f1.ts'],
      changed: ['f2.ts'],
    });
    const theirs = await to.graphs();
    for (const merge of [false, true]) {
      const { graphs } = await copyStore(from, to, { clock: clock, merge });
      expect(graphs).toEqual({ graphs: 2, files: 46, facts: 205 });
      for (const graph of ['g', 'bare']) {
        expect(await theirs.stats(graph)).toEqual(await ours.stats(graph));
        expect(await theirs.notes(graph, 0, 9)).toEqual(await ours.notes(graph, 0, 9));
        const facts = async (store: typeof ours) =>
          (await store.learned(graph, 0, 999)).map(({ n: _, ...fact }) => fact);
        expect(await facts(theirs)).toEqual(await facts(ours));
      }
      expect(await theirs.sessionsOf('g', 'f2.ts', 9)).toEqual(await ours.sessionsOf('g', 'f2.ts', 9));
    }
    expect(await theirs.stats('g')).toMatchObject({ commit: 'c', walkedAtMs: 77 });
  });
});
