import { existsSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Checkpointer,
  createCheckpoints,
  startCheckpointer,
} from '../../src/store/sqlite/thread/checkpoints.ts';
import { identityOf } from '../../src/store/sqlite/thread/examine-file.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';
import { append } from './appending.ts';
import { eventually } from './eventually.ts';
import { openInlineStore } from './open-inline-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MIB = 1024 * 1024;

async function somewhere(name: string): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder.path(name);
}

/** A database with a WAL that nobody else would bring into the file; `fill` puts rows of a KiB into it. */
async function openWithWal() {
  const path = await somewhere('log.db');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE log (body TEXT)');
  const insert = db.prepare('INSERT INTO log VALUES (?)');
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  const fill = (rows: number) => {
    db.exec('BEGIN');
    for (let row = 0; row < rows; row++) insert.run('x'.repeat(1024));
    db.exec('COMMIT');
  };
  return { path, db, fill };
}

/** Stands for the other thread: what it was asked, and ready when told so. */
function fakeCheckpointer() {
  const happened: string[] = [];
  let ready: boolean | undefined = false;
  const checkpointer: Checkpointer = {
    isReady: () => ready,
    ask() {
      happened.push('asked');
      ready = false;
    },
    wait() {
      happened.push('waited');
      ready = true;
    },
    end: () => void happened.push('ended'),
  };
  return {
    happened,
    checkpointer,
    set: (now: boolean | undefined) => {
      ready = now;
    },
  };
}

/** A database that only notes when a checkpoint is made here. */
const noting = (happened: string[]) =>
  ({ prepare: () => ({ get: () => happened.push('here') }) }) as unknown as DatabaseSync;

test('while commits leave no pause, the other thread makes the checkpoints, and this one the short last part', () => {
  const { happened, checkpointer, set } = fakeCheckpointer();
  const checkpoints = createCheckpoints(noting(happened), { beside: () => checkpointer });
  checkpoints.committed(4 * MIB); // it is only starting
  expect(happened).toEqual(['here']);
  set(true);
  checkpoints.committed(4 * MIB);
  expect(happened).toEqual(['here', 'asked']);
  checkpoints.committed(2 * MIB); // it is at it
  expect(happened).toEqual(['here', 'asked']);
  set(true);
  checkpoints.committed(0); // 2 MiB have come meanwhile: once more
  set(true);
  checkpoints.committed(0); // and next to nothing: the WAL may begin anew
  expect(happened).toEqual(['here', 'asked', 'asked', 'here']);
  checkpoints.committed(MIB / 2);
  expect(happened).toHaveLength(4);
  checkpoints.stop();
  expect(happened.at(-1)).toBe('ended');
});

test('where more comes than the other thread can bring over, commits wait for it in the end', () => {
  const { happened, checkpointer, set } = fakeCheckpointer();
  const checkpoints = createCheckpoints(noting(happened), { beside: () => checkpointer });
  set(true);
  for (let round = 0; round < 5; round++) {
    checkpoints.committed(4 * MIB);
    set(true);
  }
  expect(happened).toEqual(['asked', 'asked', 'asked', 'asked', 'here']);
  checkpoints.stop();
});

test('the WAL gets no longer than 32 MiB: then commits wait for the other thread, and for what it has left', () => {
  const { happened, checkpointer, set } = fakeCheckpointer();
  const checkpoints = createCheckpoints(noting(happened), { beside: () => checkpointer });
  set(true);
  checkpoints.committed(4 * MIB);
  for (let each = 0; each < 6; each++) checkpoints.committed(4 * MIB);
  expect(happened).toEqual(['asked']);
  checkpoints.committed(4 * MIB);
  expect(happened).toEqual(['asked', 'waited', 'here']);
  checkpoints.stop();
});

test('where the other thread is no more, this one makes the checkpoints', () => {
  const { happened, checkpointer, set } = fakeCheckpointer();
  const checkpoints = createCheckpoints(noting(happened), { beside: () => checkpointer });
  set(undefined);
  checkpoints.committed(4 * MIB);
  checkpoints.committed(4 * MIB);
  expect(happened).toEqual(['here', 'here']);
  checkpoints.stop();
});

test('where no thread can be started, this one makes the checkpoints until one can', () => {
  const { happened, checkpointer, set } = fakeCheckpointer();
  set(true);
  let mayStart = false;
  const beside = () => {
    if (mayStart) return checkpointer;
    throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
  };
  const checkpoints = createCheckpoints(noting(happened), { beside });
  checkpoints.committed(4 * MIB);
  checkpoints.committed(4 * MIB);
  mayStart = true;
  checkpoints.committed(4 * MIB);
  expect(happened).toEqual(['here', 'here', 'asked']);
  checkpoints.stop();
});

test('a thread of its own brings the WAL into the file while this one goes on', async () => {
  const { path, db, fill } = await openWithWal();
  const checkpointer = startCheckpointer({ path, durability: 'power' }, identityOf(path));
  await eventually(() => expect(checkpointer.isReady()).toBe(true));
  fill(2_000);
  const before = statSync(path).size;
  checkpointer.ask();
  fill(10);
  checkpointer.wait();
  expect(checkpointer.isReady()).toBe(true);
  expect(statSync(path).size).toBeGreaterThan(before + 2_000 * 1024);
  checkpointer.end();
  db.close();
  expect(existsSync(`${path}-wal`)).toBe(false); // it had let go of the file
  const again = new DatabaseSync(path);
  expect(again.prepare('SELECT count(*) AS n FROM log').get()).toEqual({ n: 2_010 });
  again.close();
});

test('one that could not be made leaves the thread there for the next', async () => {
  const { path, fill } = await openWithWal();
  const checkpointer = startCheckpointer({ path, durability: 'process' }, identityOf(path));
  onTestFinished(() => checkpointer.end());
  await eventually(() => expect(checkpointer.isReady()).toBe(true));
  fill(2_000);
  const before = statSync(path).size;
  const wal = readFileSync(`${path}-wal`);
  truncateSync(`${path}-wal`); // a disk that cannot be read for a while
  checkpointer.ask();
  checkpointer.wait();
  expect(checkpointer.isReady()).toBe(true);
  expect(statSync(path).size).toBe(before);
  writeFileSync(`${path}-wal`, wal, { flag: 'r+' });
  checkpointer.ask();
  checkpointer.wait();
  expect(checkpointer.isReady()).toBe(true);
  expect(statSync(path).size).toBeGreaterThan(before + 2_000 * 1024);
});

test('one that is ended while it starts lets go of the file, too', async () => {
  const { path, db, fill } = await openWithWal();
  fill(1);
  startCheckpointer({ path, durability: 'process' }, identityOf(path)).end();
  db.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test('one that is ended in the middle of a checkpoint has let go of the file when that returns', async () => {
  for (let round = 0; round < 10; round++) {
    const { path, db, fill } = await openWithWal();
    const checkpointer = startCheckpointer({ path, durability: 'process' }, identityOf(path));
    await eventually(() => expect(checkpointer.isReady()).toBe(true));
    fill(5_000);
    checkpointer.ask();
    checkpointer.end();
    expect(checkpointer.isReady()).toBe(undefined);
    db.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  }
});

test('one that finds no file makes none, and is done without', async () => {
  const path = await somewhere('nowhere.db');
  const checkpointer = startCheckpointer({ path, durability: 'power' }, { ino: 1, dev: 1 });
  await eventually(() => expect(checkpointer.isReady()).toBe(undefined));
  expect(existsSync(path)).toBe(false);
  checkpointer.end();
});

test('one that finds another file in the place of the store leaves it as it is', async () => {
  const { path, fill } = await openWithWal();
  fill(100);
  const ours = identityOf(path);
  const backup = await somewhere('backup.db');
  const other = new DatabaseSync(backup);
  other.exec("CREATE TABLE log (body TEXT); INSERT INTO log VALUES ('kept')");
  other.close();
  renameSync(backup, path);
  const before = readFileSync(path);
  const checkpointer = startCheckpointer({ path, durability: 'power' }, ours);
  await eventually(() => expect(checkpointer.isReady()).toBe(undefined));
  expect(readFileSync(path).equals(before)).toBe(true);
});

type WriteMore = (store: Store, writer: StreamWriter, n: number, text: string) => unknown;
const KINDS: readonly (readonly [string, WriteMore])[] = [
  ['events', (_, writer, n, text) => append(writer, { expectedSeq: n, events: [JSON.stringify({ text })] })],
  ['rows of tables', ({ tables }, _, __, text) => tables.set('t', 'k', text)],
  [
    'rows beside events',
    (_, writer, n, text) =>
      append(writer, { expectedSeq: n, events: ['{}'], writes: [{ table: 't', key: 'k', value: text }] }),
  ],
  ['messages', (store, { stream }, _, text) => store.send(stream, { kind: 'k', from: 'f', body: text })],
  [
    'snapshots',
    async (_, writer, n, text) => {
      await append(writer, { expectedSeq: n, events: ['{}'] });
      writer.snapshot(n + 1, text);
    },
  ],
];

test.each(KINDS)('the WAL gets no longer than about 32 MiB, also by %s', async (_, writeMore) => {
  const path = await somewhere('store.db');
  const store = openInlineStore({ path });
  onTestFinished(() => store.close());
  const writer = await store.create('s', { kind: 'session', name: 'n', status: 'running', title: '' });
  for (let n = 0; n < 64; n++) await writeMore(store, writer, n, 'x'.repeat(MIB));
  expect(statSync(`${path}-wal`).size).toBeLessThan(48 * MIB);
});
