import { spawn } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { GraphStore } from '../../src/store/graph.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../src/store/memory/memory-tables.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { append } from './appending.ts';
import { corner } from './corner.ts';
import { eventually, PATIENT } from './eventually.ts';
import { fileRecord, graphContract, hashOf, symbolOf } from './graph-contract.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const HEAD = { kind: 'session', name: 'here', status: 'running', title: 'here' } as const;
const clock = createSystemClock();
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

describe('graphs in a SQLite file', PATIENT, () => {
  let store: Store;
  let graphs: GraphStore;
  beforeAll(async () => {
    store = await openSqliteStore({ path: folder.path('store.db'), clock, durability: 'process' });
    graphs = await store.graphs();
  }, PATIENT.timeout);
  afterAll(() => store.close());
  graphContract(() => graphs);

  test('a second process, or a second store, sees what the first has written, and both may write at once', async () => {
    const other = openInlineStore({ path: folder.path('store.db') });
    const theirs = await other.graphs();
    const files = (name: string) =>
      Array.from({ length: 20 }, (_, n) =>
        fileRecord(`${name}${n}.ts`, {
          symbols: Array.from({ length: 30 }, (_, at) => symbolOf(`${name}${at}`, at)),
        }),
      );
    const [mine, others] = [files('mine'), files('theirs')];
    for (let at = 0; at < 20; at += 5)
      await Promise.all([
        graphs.write('both', { records: mine.slice(at, at + 5) }),
        theirs.write('both', { records: others.slice(at, at + 5) }),
      ]);
    expect(await graphs.stats('both')).toMatchObject({ files: 40, symbols: 1200 });
    expect(await theirs.symbols('both', 'mine7', 99)).toHaveLength(20);
    const ids = (await theirs.symbols('both', 'theirs0', 99)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(20);
    await other.close();
  });

  test('ten thousand symbols are searched, listed and replaced', async () => {
    const record = (n: number, name: string) =>
      fileRecord(`src/part${n}/file.ts`, {
        hash: hashOf(name),
        symbols: Array.from({ length: 100 }, (_, at) => symbolOf(`${name}Thing${n}x${at}`, at + 1)),
      });
    for (let n = 0; n < 100; n += 20)
      await graphs.write('many', { records: Array.from({ length: 20 }, (_, at) => record(n + at, 'make')) });
    expect(await graphs.stats('many')).toMatchObject({ symbols: 10_000 });
    expect(await graphs.search('many', 'makeThing42x7', { limit: 3 })).toMatchObject([
      { symbol: { name: 'makeThing42x7' } },
      {},
      {},
    ]);
    await graphs.write('many', { records: [record(42, 'break')] });
    expect(await graphs.symbols('many', 'makeThing42x7', 9)).toEqual([]);
    expect(await graphs.symbols('many', 'breakThing42x7', 9)).toHaveLength(1);
    expect(await graphs.stats('many')).toMatchObject({ symbols: 10_000 });
  });

  test('what was dropped is cleared away behind the scenes', async () => {
    await graphs.write('brief', {
      records: Array.from({ length: 50 }, (_, n) =>
        fileRecord(`${n}.ts`, { symbols: [symbolOf('brief', 1)] }),
      ),
    });
    await graphs.drop('brief');
    const db = new DatabaseSync(folder.path('store.db'));
    try {
      await eventually(() =>
        expect(db.prepare('SELECT count(*) AS n FROM graph_graphs WHERE name IS NULL').get()?.n).toBe(0),
      );
      expect(db.prepare("SELECT count(*) AS n FROM graph_symbols WHERE name = 'brief'").get()?.n).toBe(0);
    } finally {
      db.close();
    }
  });

  test('corners of one store have graphs of their own', async () => {
    const [left, right] = await Promise.all([
      corner(store, 'left').graphs(),
      corner(store, 'right').graphs(),
    ]);
    await left.write('g', { records: [fileRecord('a.ts')] });
    expect(await right.files('g')).toEqual([]);
    expect(await left.graphs()).toEqual(['g']);
  });
});

describe('graphs in memory', () => {
  const home = createMemoryHome();
  let graphs: GraphStore;
  beforeAll(async () => {
    graphs = await createMemoryStore({ clock, home }).graphs();
  });
  graphContract(() => graphs);

  test('a second store on the same home has them, and a closed one answers no more', async () => {
    const store = createMemoryStore({ clock, home });
    const theirs = await store.graphs();
    await graphs.write('shared', { records: [fileRecord('a.ts')] });
    expect(await theirs.files('shared')).toHaveLength(1);
    await store.close();
    await expect(theirs.files('shared')).rejects.toMatchObject({ code: 'store_closed' });
    await expect(store.graphs()).rejects.toMatchObject({ code: 'store_closed' });
    expect(await graphs.files('shared')).toHaveLength(1);
  });
});

describe('the file', PATIENT, () => {
  test('a store from before, with a log, gets its tables when a graph is asked for, and its version stays', async () => {
    const path = folder.path('before.db');
    const before = openInlineStore({ path });
    await append(await before.create('s', HEAD), { expectedSeq: 0, events: ['{}'] });
    await before.close();
    const look = (sql: string) => {
      const db = new DatabaseSync(path);
      try {
        return db.prepare(sql).get();
      } finally {
        db.close();
      }
    };
    const tables = "SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'graph%'";
    expect(look(tables)).toEqual({ n: 0 });
    const version = look('PRAGMA user_version');
    const store = openInlineStore({ path });
    await (await store.graphs()).write('g', { records: [fileRecord('a.ts')] });
    await store.close();
    expect(look('PRAGMA user_version')).toEqual(version);
    const again = openInlineStore({ path });
    expect(await (await again.graphs()).files('g')).toHaveLength(1);
    expect(await again.read('s')).toEqual(['{}']);
    await again.close();
  });

  test('two that ask for graphs at once make the tables once', async () => {
    const path = folder.path('at-once.db');
    const stores = await Promise.all(
      [0, 1].map(() => openSqliteStore({ path, clock, durability: 'process' })),
    );
    const [one, other] = await Promise.all(stores.map((store) => store.graphs()));
    await one?.write('g', { records: [fileRecord('a.ts')] });
    expect(await other?.graphs()).toEqual(['g']);
    for (const store of stores) await store.close();
  });

  test('graphs of a newer version are refused untouched, and the log beside them is served', async () => {
    const path = folder.path('newer.db');
    const before = openInlineStore({ path });
    await before.graphs();
    await before.close();
    const db = new DatabaseSync(path);
    db.exec('UPDATE graph_version SET version = 99');
    db.close();
    const store = await openSqliteStore({ path, clock, durability: 'process' });
    await expect(store.graphs()).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining('99'),
    });
    await store.create('s', HEAD);
    await store.close();
    await expect(store.graphs()).rejects.toMatchObject({ code: 'store_closed' });
  });

  test('what was asked before the store is closed is answered, what comes later is refused', async () => {
    const store = await openSqliteStore({ path: folder.path('closing.db'), clock, durability: 'process' });
    const graphs = await store.graphs();
    const writing = graphs.write('g', { records: [fileRecord('a.ts')] });
    await store.close();
    await writing;
    await expect(graphs.files('g')).rejects.toMatchObject({ code: 'store_closed' });
  });

  test('a disk without space fails the write with store_full, and reading goes on', async () => {
    const store = openInlineStore({ path: folder.path('full.db'), maxPages: 120 });
    const graphs = await store.graphs();
    await graphs.write('g', { records: [fileRecord('a.ts')] });
    const symbols = Array.from({ length: 5000 }, (_, n) => symbolOf(`name${n}`, n));
    await expect(graphs.write('g', { records: [fileRecord('b.ts', { symbols })] })).rejects.toMatchObject({
      code: 'store_full',
      retryable: true,
    });
    expect((await graphs.files('g')).map(({ path }) => path)).toEqual(['a.ts']);
    await graphs.write('g', { records: [fileRecord('c.ts')] });
    await store.close();
  });

  test('after kill -9 in the midst of writes every batch is there whole or not at all', async () => {
    const path = folder.path('killed.db');
    const script = fileURLToPath(new URL('./fixtures/graph-process.ts', import.meta.url));
    const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await eventually(() => expect(said.split('\n').length).toBeGreaterThan(6));
    child.kill('SIGKILL');
    await ended;
    const reported = Number(said.trim().split('\n').at(-1));
    const store = openInlineStore({ path });
    const graphs = await store.graphs();
    const files = await graphs.files('g');
    const rounds = new Set(files.map(({ size }) => size));
    expect(rounds.size).toBe(1);
    const [round = 0] = rounds;
    expect(round).toBeGreaterThanOrEqual(reported);
    expect(await graphs.stats('g')).toMatchObject({ files: 10, symbols: 200, calls: 200, facts: 1 });
    expect(await graphs.symbols('g', `round${round}`, 999)).toHaveLength(200);
    expect(await graphs.symbols('g', `round${round - 1}`, 999)).toEqual([]);
    await graphs.write('g', { records: [fileRecord('after.ts')] });
    const db = new DatabaseSync(path);
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    db.close();
    await store.close();
  });
});
