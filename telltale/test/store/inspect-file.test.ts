import { readFileSync, statSync, truncateSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inspectFile } from '../../src/store/sqlite/thread/inspect-file.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const FILES = 500;

/** Makes one file after the other, empty at first; `made` is the one that it is at. */
const MAKER = `
const { workerData: { made, name, page } } = require('node:worker_threads');
const { closeSync, openSync, writeSync } = require('node:fs');
for (let n = 1; n <= ${FILES}; n++) {
  const file = openSync(name + n, 'w');
  Atomics.store(made, 0, n);
  for (let turns = 0; turns < 20_000; turns++) Atomics.load(made, 0);
  writeSync(file, page);
  closeSync(file);
}
Atomics.store(made, 0, -1);
`;

test('a file that another process is making is not taken for a damaged one', async () => {
  const path = folder.path('store.db');
  await (await openInlineStore({ path })).close();
  const page = readFileSync(path).subarray(0, 8192);
  page.writeUInt32BE(1, 28); // all of its pages
  const made = new Int32Array(new SharedArrayBuffer(4));
  const name = folder.path('new');
  const maker = new Worker(MAKER, { eval: true, workerData: { made, name, page } });
  let looks = 0;
  for (let n = 0; n >= 0; n = Atomics.load(made, 0)) {
    if (n === 0) continue;
    inspectFile(`${name}${n}`);
    looks++;
  }
  await maker.terminate();
  expect(looks).toBeGreaterThan(0);
});

test('a file that lacks the end of its last page is a damaged one', async () => {
  const path = folder.path('store.db');
  await (await openInlineStore({ path })).close();
  inspectFile(path);
  const { size } = statSync(path);
  truncateSync(path, size - 1);
  expect(() => inspectFile(path)).toThrow(`it was cut short, ${size - 1} of ${size} bytes are there`);
});

/** Looks at the file again and again, and counts. */
const LOOKER = `
import { workerData } from 'node:worker_threads';
const { inspectFile } = await import(workerData.module);
while (Atomics.load(workerData.looks, 1) === 0) {
  inspectFile(workerData.path);
  Atomics.add(workerData.looks, 0, 1);
}
`;

/** What this process has locked of it; undefined where the system does not say. */
function locksOn(path: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const { ino } = statSync(path);
  const mine = (line: string) => line.includes(`:${ino} `) && line.includes(` ${process.pid} `);
  return readFileSync('/proc/locks', 'utf8').split('\n').filter(mine).length;
}

test('a look at a file takes no lock from another thread that opens it meanwhile', async () => {
  const path = folder.path('store.db');
  await (await openInlineStore({ path })).close();
  const looks = new Int32Array(new SharedArrayBuffer(8));
  const module = new URL('../../src/store/sqlite/thread/inspect-file.ts', import.meta.url).href;
  const looker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(LOOKER)}`), {
    workerData: { looks, module, path },
  });
  const looked = async (times: number) => {
    for (const before = Atomics.load(looks, 0); Atomics.load(looks, 0) - before < times; )
      await new Promise((resolve) => setImmediate(resolve));
  };
  await looked(1);
  let lost = 0;
  for (let opened = 0; opened < 100; opened++) {
    const db = new DatabaseSync(path);
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    await looked(2); // the one that was under way is over
    if (locksOn(path) === 0) lost++;
    db.close();
  }
  Atomics.store(looks, 1, 1);
  await new Promise((resolve) => looker.once('exit', resolve));
  expect(lost).toBe(0);
});
